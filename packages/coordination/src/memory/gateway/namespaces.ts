import type { Settings } from '../settings.ts';

type Named = Pick<Settings, 'CP_CONTEXT_NAMESPACE_PREFIX'>;

/** The namespace for a tenant's events. See docs/reference/memory.md#namespaces. */
export function tenantNamespace({ CP_CONTEXT_NAMESPACE_PREFIX: prefix }: Named, tenantId: string): string {
  return `${prefix}${tenantId}`;
}

/**
 * The namespace for the knowledge of a workspace tree; always derived, never taken from a request. See
 * docs/reference/memory.md#namespaces.
 */
export function treeNamespace(settings: Named, tenantId: string, rootWorkspaceId: string): string {
  return `${tenantNamespace(settings, tenantId)}:ws:${rootWorkspaceId}`;
}

/** The decision point's name for a namespace of the tenant. See docs/reference/memory.md#namespaces. */
export function namespaceIdOf(settings: Named, tenantId: string, name: string): string {
  const trees = treeNamespace(settings, tenantId, '');
  return name.startsWith(trees) ? `ws-${name.slice(trees.length)}` : `tenant-${tenantId}`;
}

/** Returns a function that detects names of other tenants' namespaces. */
export function foreignTo({ CP_CONTEXT_NAMESPACE_PREFIX: prefix }: Named, tenantId: string) {
  return (name: string): boolean => {
    if (!name.startsWith(prefix)) return false;
    const [owner = ''] = name.slice(prefix.length).split(':', 1);
    return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(owner) && owner.toLowerCase() !== tenantId;
  };
}
