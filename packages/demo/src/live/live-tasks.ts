import type { BatonClient } from '@baton/sdk';
import { demoRole } from '../demo-role.ts';
import { liveBacklog } from './backlog.ts';

/** Creates the tasks of the live demo and the relations between them. @returns their ids by their keys */
export async function createLiveTasks(baton: BatonClient, workspaceId: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  // Created in reverse order: a task must not be taken before its relations exist, and the board shows the newest task
  // at the top.
  for (const { key, title, description, priority } of liveBacklog.toReversed()) {
    const requirements = { roles: [demoRole] };
    const { id } = await baton.tasks.create({ title, description, priority, workspaceId, requirements });
    ids.set(key, id);
  }
  for (const { key, after } of liveBacklog)
    for (const before of after)
      await baton.tasks.createRelation(ids.get(key) ?? '', {
        toTask: ids.get(before) ?? '',
        type: 'depends_on',
      });
  return ids;
}
