import { type BatonClient, BatonError, etagOf, type Workspace, type WorkspaceTreeNode } from '@baton/sdk';
import { forEachConcurrently } from '@baton/values/concurrently';
import { slugPrefixes } from './demo-workspace.ts';
import { retireCompany } from './organisation/company-removal.ts';
import { deprecateFeatureType } from './specialties.ts';

const pageMax = 200;
const concurrencyMax = 8;
const removed = 'demo_removed';

/** The objects that were removed with a workspace. */
export interface RemovedDemo {
  readonly workspace: string;
  readonly agents: number;
  readonly cancelledApprovals: number;
  readonly cancelledTasks: number;
}

/**
 * Removes a demo: disables its principals, which ends their sessions and leases, cancels its pending approvals and open
 * tasks, and archives its workspaces. The journal keeps everything. Another call completes a removal that was
 * interrupted.
 * @param tenantId the tenant's id in identity
 */
export async function removeDemo(
  baton: BatonClient,
  { id, slug }: Pick<Workspace, 'id' | 'slug'>,
  tenantId: string,
): Promise<RemovedDemo> {
  const principalIds = await findPrincipals(baton, id, slug);
  await forEachConcurrently(principalIds, concurrencyMax, (principalId) =>
    disablePrincipal(baton, principalId, tenantId),
  );
  const within = await workspacesBelow(baton, id);
  if (slug.startsWith(slugPrefixes.organisation))
    await retireCompany(baton, slug.slice(slugPrefixes.organisation.length), within);
  if (slug.startsWith(slugPrefixes.backlog)) await deprecateFeatureType(baton);
  const cancelledApprovals = await cancelApprovals(baton, new Set(within.map((workspace) => workspace.id)));
  const cancelledTasks = await cancelTasks(baton, id);
  // Descendants first, because a workspace with an active descendant can't be archived.
  for (const workspace of within.toReversed()) await archive(baton, workspace.id);
  return { workspace: slug, agents: principalIds.length, cancelledApprovals, cancelledTasks };
}

/**
 * The principals of the demo. Demos of earlier releases lack the metadata, so their principals are found as members.
 */
async function findPrincipals(baton: BatonClient, workspaceId: string, slug: string): Promise<string[]> {
  const members = await all(baton.workspaces.listMembers(workspaceId, { limit: pageMax }));
  const principals = await all(baton.principals.list({ limit: pageMax }));
  const own = principals.filter(({ metadata }) => metadata['demo'] === slug);
  return [...new Set([...members.map(({ principalId }) => principalId), ...own.map(({ id }) => id)])];
}

/** Done in both services: coordination ends the principal's sessions and leases, identity revokes its tokens. */
async function disablePrincipal(baton: BatonClient, principalId: string, tenantId: string): Promise<void> {
  const bindings = await all(baton.principals.listIamBindings(principalId));
  await baton.principals.disable(principalId, { reason: removed });
  for (const { iamPrincipalId } of bindings)
    await baton.identity.principals
      .disable(tenantId, iamPrincipalId, { reason: removed })
      .catch(ignoreConflict);
}

/** The workspace and its descendants, from the top down. */
async function workspacesBelow(baton: BatonClient, rootId: string): Promise<WorkspaceTreeNode[]> {
  const { roots } = await baton.workspaces.getTree({ rootId });
  const found: WorkspaceTreeNode[] = [];
  for (let level = roots; level.length > 0; level = level.flatMap(({ children }) => children))
    found.push(...level);
  return found;
}

async function cancelApprovals(baton: BatonClient, workspaceIds: ReadonlySet<string>): Promise<number> {
  const pending = await all(baton.approvals.list({ status: 'pending', limit: pageMax }));
  const own = pending.filter(({ workspaceId }) => workspaceId !== null && workspaceIds.has(workspaceId));
  await forEachConcurrently(own, concurrencyMax, ({ id }) =>
    baton.approvals.cancel(id, { comment: 'The demo was removed.' }).catch(ignoreConflict),
  );
  return own.length;
}

async function cancelTasks(baton: BatonClient, workspaceId: string): Promise<number> {
  const tasks = await all(baton.tasks.list({ workspaceId, includeDescendants: true, limit: pageMax }));
  const open = tasks.filter(({ systemStatusCategory }) => !systemStatusCategory.startsWith('terminal'));
  await forEachConcurrently(open, concurrencyMax, async ({ id }) => {
    const { targets } = await baton.tasks.listTransitions(id);
    const cancelled = targets.find((target) => target.systemStatusCategory === 'terminal_cancelled');
    const status = cancelled?.status ?? 'cancelled';
    await baton.tasks.update(id, { status }, { ifMatch: etagOf(await baton.tasks.get(id)) });
  });
  return open.length;
}

async function archive(baton: BatonClient, workspaceId: string): Promise<void> {
  for (const { id } of await all(baton.projects.list({ workspaceId, status: 'active', limit: pageMax })))
    await baton.projects.archive(id);
  await baton.workspaces.archive(workspaceId);
}

/** Another caller may already have ended the object. */
function ignoreConflict(error: unknown): void {
  if (!(error instanceof BatonError) || error.status !== 409) throw error;
}

async function all<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pages) items.push(item);
  return items;
}
