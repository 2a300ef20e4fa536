import { isInSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { tenantNamespace, treeNamespace } from './namespaces.ts';

/**
 * The namespaces of memory that the caller may be told from: the tenant's, and that of a tree of workspaces. A person who
 * sees only some workspaces gets none of the tenant's, where the events of all are, and that of a tree which is in sight
 * as a whole.
 * @returns the tenant's first; empty where nothing may be told
 */
export async function visibleNamespaces(
  context: Context,
  rootWorkspaceId: string | null,
): Promise<readonly string[]> {
  const { settings, tenantId } = context;
  const tenants = (await viewerOf(context)) === null ? [tenantNamespace(settings, tenantId)] : [];
  if (rootWorkspaceId === null || !(await isInSight(context, rootWorkspaceId))) return tenants;
  return [...tenants, treeNamespace(settings, tenantId, rootWorkspaceId)];
}
