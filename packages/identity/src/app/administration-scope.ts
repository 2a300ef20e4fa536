import type { Operation } from '@baton/kernel/http/service';

/** The prefix of the paths of a tenant's own administration. */
const tenantPath = '/tenants/{tenantId}';

/** Endpoints below a tenant's path that need the admin secret, and why. */
export const operatorOnly: Readonly<Record<string, string>> = {
  updateTenant: 'A disabled tenant can be enabled by nobody inside it.',
  recordAuthenticationContext:
    'It states a sign-in that identity has not seen, so that a person could be given a token without one.',
  importLegacyCredential: 'It stores a secret that Baton did not make.',
};

/**
 * Whether the administration token of a person is accepted at an endpoint: below the path of a tenant, unless it is
 * listed above. Every other endpoint refuses it.
 */
export function isOpenToAdministrators({ auth, path, root, id }: Operation): boolean {
  const isOfTenant =
    path === tenantPath || path.startsWith(`${tenantPath}/`) || path.startsWith(`${tenantPath}:`);
  return auth === undefined && !root && isOfTenant && !Object.hasOwn(operatorOnly, id);
}

/**
 * Whether a path, as it was sent, is that of a tenant. Anything but the exact text is refused: an escaped or
 * differently spelled id could mean another tenant to the router.
 */
export function isPathOf(path: string, basePath: string, tenantId: string): boolean {
  const start = `${basePath}/tenants/${tenantId}`;
  return path === start || path.startsWith(`${start}/`);
}
