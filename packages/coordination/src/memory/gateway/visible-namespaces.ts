import { decidesPerObject, permittedIds } from '../../service/permissions.ts';
import { isInSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { namespaceIdOf, tenantNamespace, treeNamespace } from './namespaces.ts';

/**
 * The memory namespaces that the caller may read: that of the tenant and that of a tree of workspaces. A person who
 * sees only some workspaces may not read the tenant's namespace, which contains all events, but may read that of a
 * fully visible tree. A decision point restricts the result to the namespaces that it shows.
 * @returns the tenant's namespace first; empty if none is readable
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

/** Whether a decision point, if configured, shows all of these namespaces. @throws NeedsDecision */
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
 * Returns the given namespaces that a decision point shows; without a decision point, all of them. See
 * docs/reference/memory.md#namespaces.
 */
function readableOf({ caller, settings, tenantId }: Context, names: readonly string[]): readonly string[] {
  const ids = names.map((name) => namespaceIdOf(settings, tenantId, name));
  const readable = new Set(permittedIds(caller.permissions, 'memory.read', 'memory_namespace', ids));
  return names.filter((_, index) => readable.has(ids[index] as string));
}
