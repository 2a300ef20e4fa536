import { expectSuccess, type JsonApi } from './json-api.ts';

/** The audience of coordination's access tokens. */
export const controlPlane = 'control-plane';

/** The default audiences and their scopes. Identity has none built in. */
export const audienceScopes: Readonly<Record<string, readonly string[]>> = {
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

/** Registers the audiences that are missing; an existing one keeps its scopes. */
export async function ensureAudiences(
  identity: JsonApi,
  tenantId: string,
  scim: { readonly audience: string; readonly scope: string },
): Promise<void> {
  const path = `/api/v1/tenants/${tenantId}/audiences`;
  const wanted = { ...audienceScopes, [scim.audience]: [scim.scope] };
  for (const [key, allowedScopes] of Object.entries(wanted)) {
    const answer = await identity.send('POST', path, { body: { key, allowedScopes } });
    if (answer.code !== 'audience_exists') expectSuccess(answer, `registering the audience ${key}`);
  }
}
