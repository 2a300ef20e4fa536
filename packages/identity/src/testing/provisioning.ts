import { randomUUID } from 'node:crypto';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from './identity.ts';
import { made, makeAudience, makeServiceAccount, makeTenant } from './objects.ts';

/** Inserts an identity provider of a tenant into the database. */
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
  const providerId = await makeProvider(identity, tenantId, key);
  return { tenantId, providerId, ...(await makeSource(identity, tenantId, key)) };
}

/** A SCIM source for an existing provider, and a token for it. */
export async function makeSource(identity: TestIdentity, tenantId: string, key: string) {
  const scopes = ['scim:write', 'scim:other'];
  await makeAudience(identity, tenantId, 'iam-scim', scopes);
  const account = await makeServiceAccount(identity, tenantId, {
    audiences: ['iam-scim'],
    scopeCeiling: scopes,
  });
  const path = `/tenants/${tenantId}/provisioning-sources`;
  const wanted = { key, identityProvider: key, servicePrincipalId: account.principalId };
  const sourceId: string = (await made(identity.post(path, wanted))).id;
  const { token, id } = await made(identity.post(`${path}/${sourceId}/tokens`, { name: 'directory' }));
  return { sourceId, account, token: token as string, tokenId: id as string };
}
