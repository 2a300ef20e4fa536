import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { treeNamespace } from '../gateway/namespaces.ts';
import { mayReadAll, refuseMemory } from '../gateway/visible-namespaces.ts';

/** The scope of knowledge: a workspace, and the namespace of its tree. See docs/reference/memory.md#namespaces. */
export interface KnowledgePlace {
  readonly workspaceId: string;
  readonly rootWorkspaceId: string;
  readonly namespace: string;
  readonly isArchived: boolean;
}

/** @throws Refusal `not_found` */
export async function findPlace(context: Context, workspaceId: string): Promise<KnowledgePlace> {
  const { id, path, status } = await getWorkspaceRow(context, workspaceId);
  const rootWorkspaceId = path[0] ?? id;
  const namespace = treeNamespace(context.settings, context.tenantId, rootWorkspaceId);
  return { workspaceId: id, rootWorkspaceId, namespace, isArchived: status === 'archived' };
}

/** @throws Refusal `not_found`, `workspace_archived` */
export async function findOpenPlace(context: Context, workspaceId: string): Promise<KnowledgePlace> {
  const place = await findPlace(context, workspaceId);
  if (place.isArchived) fail('workspace_archived', { workspaceId });
  return place;
}

/**
 * Requires that the caller may read the namespace: the caller sees the whole tree, and a decision point, if configured,
 * shows the namespace.
 * @throws Refusal `permission_denied`; NeedsDecision when the point has not decided yet
 */
export async function requireMayRead(
  context: Context,
  { namespace, rootWorkspaceId }: KnowledgePlace,
): Promise<void> {
  if (!(await isInSight(context, rootWorkspaceId))) fail('permission_denied', { required: ['events.read'] });
  if (!mayReadAll(context, [namespace])) refuseMemory(context);
}

/** The namespace and workspace fields in a request to the memory service: none of them comes from the caller. */
export function fieldsOfPlace({ namespace, workspaceId }: KnowledgePlace) {
  return { namespace, scopes: [`workspace:${workspaceId}`] };
}
