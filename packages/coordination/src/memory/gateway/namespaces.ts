import type { Settings } from '../settings.ts';

type Named = Pick<Settings, 'CP_CONTEXT_NAMESPACE_PREFIX'>;

/** Where the memory service keeps the events of a tenant (organisation, section 20.2). */
export function tenantNamespace({ CP_CONTEXT_NAMESPACE_PREFIX: prefix }: Named, tenantId: string): string {
  return `${prefix}${tenantId}`;
}

/** Where it keeps the knowledge of a tree of workspaces (section 18); always derived, never taken from a request. */
export function treeNamespace(settings: Named, tenantId: string, rootWorkspaceId: string): string {
  return `${tenantNamespace(settings, tenantId)}:ws:${rootWorkspaceId}`;
}

/** What a decision point calls a namespace of the tenant (section 21.3). */
export function namespaceIdOf(settings: Named, tenantId: string, name: string): string {
  const trees = treeNamespace(settings, tenantId, '');
  return name.startsWith(trees) ? `ws-${name.slice(trees.length)}` : `tenant-${tenantId}`;
}

/** Judges whether a name is that of a namespace of another tenant. */
export function foreignTo({ CP_CONTEXT_NAMESPACE_PREFIX: prefix }: Named, tenantId: string) {
  return (name: string): boolean => {
    if (!name.startsWith(prefix)) return false;
    const [owner = ''] = name.slice(prefix.length).split(':', 1);
    return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(owner) && owner.toLowerCase() !== tenantId;
  };
}
