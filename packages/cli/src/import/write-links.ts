import { BatonError } from '@baton/sdk';
import { type ImportChange, linkText } from './compare.ts';
import type { Link } from './source.ts';
import type { Writing } from './write-item.ts';

const protectedCodes: readonly string[] = ['permission_denied', 'acceptance_protected'];

export interface WrittenLinks {
  /** Those that there are now, as the next import compares them. */
  readonly made: readonly string[];
  /** Those that may be made later, when what they lead to is there. */
  readonly missing: ReadonlySet<Link>;
}

/** Makes and removes the relations of a task. */
export async function writeLinks(
  writing: Writing,
  change: ImportChange,
  taskId: string,
): Promise<WrittenLinks> {
  const made = new Set(change.known?.links ?? []);
  const missing = new Set<Link>();
  for (const link of change.addedLinks) {
    const result = await writeLink(writing, taskId, link, change.item.id);
    if (result === 'made') made.add(linkText(link));
    if (result === 'missing') missing.add(link);
  }
  for (const link of await removeLinks(writing, change, taskId)) made.delete(linkText(link));
  return { made: [...made], missing };
}

async function writeLink(
  { baton, taskIds, leaveOut }: Writing,
  taskId: string,
  link: Link,
  id: string,
): Promise<'made' | 'missing' | 'refused'> {
  const toTask = taskIds.get(link.to);
  if (toTask === undefined) {
    leaveOut('relation points to what could not be made', `${id} → ${link.to}`);
    return 'missing';
  }
  try {
    await baton.tasks.createRelation(taskId, { toTask, type: link.type });
    return 'made';
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    if (error.code === 'relation_exists') return 'made';
    if (!['dependency_cycle', 'invalid_relation', 'not_found'].includes(error.code)) throw error;
    leaveOut(`relation was refused (${error.code})`, id);
    // A cycle that people here have closed never opens by an import; a task that is out of sight may come into it.
    return error.code === 'not_found' ? 'missing' : 'refused';
  }
}

/** @returns those that are not there any more */
async function removeLinks(
  { baton, taskIds, leaveOut }: Writing,
  { item, removedLinks }: ImportChange,
  taskId: string,
): Promise<Link[]> {
  if (removedLinks.length === 0) return [];
  const removed: Link[] = [];
  const { items } = await baton.tasks.listRelations(taskId);
  for (const link of removedLinks) {
    const toTask = taskIds.get(link.to);
    const found = items.find(
      ({ fromTaskId, toTaskId, type }) => fromTaskId === taskId && toTaskId === toTask && type === link.type,
    );
    try {
      if (found !== undefined) await baton.tasks.deleteRelation(taskId, found.id);
      removed.push(link);
    } catch (error) {
      // `spawned_by` is removed by holders of task_types.manage only, and what holds a task back by people and by whoever added it:
      // that says nothing of other items.
      if (!(error instanceof BatonError) || !protectedCodes.includes(error.code)) throw error;
      leaveOut(`relation is gone in the source, and you may not remove it here (${link.type})`, item.id);
    }
  }
  return removed;
}
