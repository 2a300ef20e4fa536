import { randomUUID } from 'node:crypto';
import { sql } from '@baton/kernel/sql';
import type { TestIdentity } from './identity.ts';
import { made, makeAudience, makeServiceAccount, makeTenant } from './objects.ts';

/** A provider of a tenant, straight in the store. */
export async function makeProvider(
  { pool }: TestIdentity,
  tenantId: string,
  key = 'entra',
  profile: 'read_only' | 'managed' = 'managed',
): Promise<string> {
  const id = randomUUID();
  const issuer = `https://login.example.com/${id}`;
  await pool.run(sql`
    insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, lifecycle_profile)
    values (${id}, ${tenantId}, ${key}, ${issuer}, ${issuer}, 'baton', ${profile})`);
  return id;
}

export interface Provisioning {
  tenantId: string;
  sourceId: string;
  providerId: string;
  account: { principalId: string; clientId: string; clientSecret: string };
  /** A provisioning token. */
  token: string;
  tokenId: string;
}

/** A tenant with a SCIM source and a token for it. */
export async function makeProvisioning(identity: TestIdentity, key = 'entra'): Promise<Provisioning> {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'iam-scim', ['scim:write', 'scim:other']);
  const account = await makeServiceAccount(identity, tenantId, {
    audiences: ['iam-scim'],
    scopeCeiling: ['scim:write', 'scim:other'],
  });
  const providerId = await makeProvider(identity, tenantId, key);
  const path = `/tenants/${tenantId}/provisioning-sources`;
  const wanted = { key, identityProvider: key, servicePrincipalId: account.principalId };
  const sourceId = (await made(identity.post(path, wanted))).id;
  const { token, id } = await made(identity.post(`${path}/${sourceId}/tokens`, { name: 'directory' }));
  return { tenantId, sourceId, providerId, account, token, tokenId: id };
}
