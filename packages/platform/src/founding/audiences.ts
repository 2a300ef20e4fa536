import { expected, type JsonApi } from './json-api.ts';

/** The audience whose tokens coordination takes. */
export const controlPlane = 'control-plane';

/** The specification's audience registry; identity itself knows none of them. */
export const registry: Readonly<Record<string, readonly string[]>> = {
  [controlPlane]: ['control-plane:read', 'control-plane:write', 'control-plane:admin'],
  'memory-service': [
    'memory:read',
    'memory:write',
    'memory:pii',
    'memory:tenants',
    'memory:on-behalf',
    'memory:service',
  ],
  'policy-service': ['policy:check', 'policy:check-on-behalf', 'policy:admin'],
  'entitlement-service': ['entitlement:check-on-behalf'],
};

/** Registers what is missing; an audience that is there keeps the scopes that somebody gave it. */
export async function ensureAudiences(
  identity: JsonApi,
  tenantId: string,
  scim: { readonly audience: string; readonly scope: string },
): Promise<void> {
  const path = `/api/v1/tenants/${tenantId}/audiences`;
  const wanted = { ...registry, [scim.audience]: [scim.scope] };
  for (const [key, allowedScopes] of Object.entries(wanted)) {
    const answer = await identity.send('POST', path, { body: { key, allowedScopes } });
    if (answer.code !== 'audience_exists') expected(answer, `registering the audience ${key}`);
  }
}
