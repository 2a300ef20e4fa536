import { judgesObjects, permittedIds } from '../../service/permissions.ts';
import { isInSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { namespaceIdOf, tenantNamespace, treeNamespace } from './namespaces.ts';

/**
 * The namespaces of memory that the caller may be told from: the tenant's, and that of a tree of workspaces. A person who
 * sees only some workspaces gets none of the tenant's, where the events of all are, and that of a tree which is in sight
 * as a whole. Where a decision point decides, only those that it shows are left.
 * @returns the tenant's first; empty where nothing may be told
 * @throws NeedsDecision when the point was not asked yet
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

/** Whether a decision point, where there is one, shows all of these namespaces. @throws NeedsDecision */
export function mayReadAll(context: Context, namespaces: readonly string[]): boolean {
  return readableOf(context, namespaces).length === namespaces.length;
}

/** Refuses whoever may be told from no namespace. @throws Refusal `permission_denied` */
export function refuseMemory({ caller }: Context): never {
  return fail('permission_denied', {
    required: [judgesObjects(caller.permissions) ? 'memory.read' : 'events.read'],
  });
}

/** Those of these namespaces that a decision point shows (organisation, section 21.3); without one, all of them. */
function readableOf({ caller, settings, tenantId }: Context, names: readonly string[]): readonly string[] {
  const ids = names.map((name) => namespaceIdOf(settings, tenantId, name));
  const readable = new Set(permittedIds(caller.permissions, 'memory.read', 'memory_namespace', ids));
  return names.filter((_, index) => readable.has(ids[index] as string));
}
