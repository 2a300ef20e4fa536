import { randomBytes } from 'node:crypto';
import { type BatonClient, BatonError, etagOf, type Workspace } from '@baton/sdk';
import { forEachConcurrently } from '../../concurrently.ts';
import { liveBacklog } from './backlog.ts';

/** The slug of a demo's workspace begins so; the console knows it by that. */
export const demoSlugPrefix = 'baton-demo-';

const pageMax = 200;
const concurrencyMax = 8;

/** The workspaces of live demos that were not removed yet. */
export async function demoWorkspaces(baton: BatonClient): Promise<Workspace[]> {
  const found: Workspace[] = [];
  for await (const workspace of baton.workspaces.list({ rootsOnly: true, status: 'active', limit: pageMax }))
    if (workspace.slug.startsWith(demoSlugPrefix)) found.push(workspace);
  return found;
}

/** Makes the workspace of one live demo. */
export function createDemoWorkspace(baton: BatonClient): Promise<Workspace> {
  return baton.workspaces.create({
    slug: demoSlugPrefix + randomBytes(4).toString('hex'),
    name: 'Demo',
    description: 'Three agents bring a new checkout to a shop. npx baton demo remove ends it.',
  });
}

/** Makes the tasks of the demo and says which waits for which. @returns their ids by their keys */
export async function createDemoTasks(baton: BatonClient, workspaceId: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  // The last one first: nobody may take a task before its relations stand, and the board shows the newest on top.
  for (const { key, title, description, priority } of liveBacklog.toReversed()) {
    const { id } = await baton.tasks.create({ title, description, priority, workspaceId });
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

/** What was taken away with a workspace. */
export interface RemovedDemo {
  readonly workspace: string;
  readonly agents: number;
  readonly cancelledApprovals: number;
  readonly cancelledTasks: number;
}

/**
 * Ends a live demo: its agents can't enter any more and lose what they hold, what they asked is taken back, what is open
 * is cancelled, and the workspace is archived. The journal keeps all of it. A second call does the rest of a first one
 * that was interrupted.
 * @param tenantId of identity
 */
export async function removeDemo(
  baton: BatonClient,
  workspace: Workspace,
  tenantId: string,
): Promise<RemovedDemo> {
  const { id: workspaceId } = workspace;
  const members = await all(baton.workspaces.listMembers(workspaceId, { limit: pageMax }));
  await forEachConcurrently(members, concurrencyMax, ({ principalId }) =>
    disableAgent(baton, principalId, tenantId),
  );
  const pending = (await all(baton.approvals.list({ status: 'pending', limit: pageMax }))).filter(
    (approval) => approval.workspaceId === workspaceId,
  );
  await forEachConcurrently(pending, concurrencyMax, ({ id }) =>
    baton.approvals.cancel(id, { comment: 'The demo was removed.' }),
  );
  const open = (await all(baton.tasks.list({ workspaceId, limit: pageMax }))).filter(
    ({ systemStatusCategory }) => !systemStatusCategory.startsWith('terminal'),
  );
  await forEachConcurrently(open, concurrencyMax, async ({ id }) => {
    const task = await baton.tasks.get(id);
    await baton.tasks.update(id, { status: 'cancelled' }, { ifMatch: etagOf(task) });
  });
  await baton.workspaces.archive(workspaceId);
  return {
    workspace: workspace.slug,
    agents: members.length,
    cancelledApprovals: pending.length,
    cancelledTasks: open.length,
  };
}

/** In both services: coordination ends its sessions and leases, identity revokes its tokens. */
async function disableAgent(baton: BatonClient, principalId: string, tenantId: string): Promise<void> {
  const bindings = await all(baton.principals.listIamBindings(principalId));
  await baton.principals.disable(principalId, { reason: 'demo_removed' });
  for (const { iamPrincipalId } of bindings)
    await baton.identity.principals
      .disable(tenantId, iamPrincipalId, { reason: 'demo_removed' })
      .catch((error: unknown) => {
        if (!(error instanceof BatonError) || error.status !== 409) throw error;
      });
}

async function all<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pages) items.push(item);
  return items;
}
