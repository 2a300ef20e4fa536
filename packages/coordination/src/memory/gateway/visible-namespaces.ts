import { decidesPerObject, permittedIds } from '../../service/permissions.ts';
import { isInSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { namespaceIdOf, tenantNamespace, treeNamespace } from './namespaces.ts';

/**
 * The namespaces of memory that the caller may read: the tenant's, and that of a tree of workspaces. A person who sees
 * only some workspaces may not read the tenant's namespace, which has the events of all, but that of a tree that is
 * visible as a whole. With a decision point, only the namespaces that it shows remain.
 * @returns the tenant's first; empty if none is readable
 * @throws NeedsDecision when the point has not decided yet
 */
export async function visibleNamespaces(
  context: Context,
  rootWorkspaceId: string | null,
): Promise<readonly string[]> {
  const { settings, tenantId } = context;
  const tenants = (await viewerOf(context)) === null ? [tenantNamespace(settings, tenantId)] : [];
  const seesTree = rootWorkspaceId !== null && (await isInSight(context, rootWorkspaceId));
  return readableOf(
    context,
    seesTree ? [...tenants, treeNamespace(settings, tenantId, rootWorkspaceId)] : tenants,
  );
}

/** Whether a decision point, if there is one, shows all of these namespaces. @throws NeedsDecision */
export function mayReadAll(context: Context, namespaces: readonly string[]): boolean {
  return readableOf(context, namespaces).length === namespaces.length;
}

/** Refuses callers who may read no namespace. @throws Refusal `permission_denied` */
export function refuseMemory({ caller }: Context): never {
  return fail('permission_denied', {
    required: [decidesPerObject(caller.permissions) ? 'memory.read' : 'events.read'],
  });
}

/**
 * The namespaces among these that a decision point shows; without one, all of them. See
 * docs/reference/memory.md#namespaces.
 */
function readableOf({ caller, settings, tenantId }: Context, names: readonly string[]): readonly string[] {
  const ids = names.map((name) => namespaceIdOf(settings, tenantId, name));
  const readable = new Set(permittedIds(caller.permissions, 'memory.read', 'memory_namespace', ids));
  return names.filter((_, index) => readable.has(ids[index] as string));
}
