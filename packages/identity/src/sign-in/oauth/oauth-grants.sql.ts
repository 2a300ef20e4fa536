import { sql } from '@baton/kernel/database/sql';

export interface LiveGrantRow {
  credential_id: string;
  tenant_id: string;
  principal_id: string;
  client_id: string;
  resource: string;
  public_prefix: string;
  secret_hash: string;
  scope_ceiling: string[];
  granted_by: string;
  browser_session_id: string | null;
  created_at: string;
  created_seconds: number;
  expires_seconds: number;
}

/**
 * A grant whose tokens are currently accepted. If it is an agent's, its person must still be an active member, too.
 */
export function findLiveGrant(credentialId: string) {
  return sql<LiveGrantRow>`
    select g.credential_id, g.tenant_id, c.principal_id, g.client_id, g.resource, c.public_prefix, c.secret_hash, c.scope_ceiling,
      g.granted_by, g.browser_session_id, g.created_at,
      floor(extract(epoch from g.created_at))::float8 as created_seconds,
      floor(extract(epoch from c.expires_at))::float8 as expires_seconds
    from oauth_grants g
    join platform_access_tokens c on c.id = g.credential_id
    join tenants t on t.id = g.tenant_id
    join principals p on p.id = c.principal_id
    join principals b on b.id = g.granted_by
    join memberships m on m.tenant_id = g.tenant_id and m.principal_id = c.principal_id
    join memberships bm on bm.tenant_id = g.tenant_id and bm.principal_id = g.granted_by
    where g.credential_id = ${credentialId} and c.revoked_at is null and c.generation = p.token_generation
      and c.expires_at > now() and t.status = 'active' and p.status = 'active' and b.status = 'active'
      and m.status = 'active' and bm.status = 'active'`;
}

export function insertGrant(made: {
  credentialId: string;
  tenantId: string;
  grantedBy: string;
  clientId: string;
  resource: string;
  browserSessionId: string;
}) {
  return sql`
    insert into oauth_grants (credential_id, tenant_id, granted_by, client_id, resource, browser_session_id)
    values (${made.credentialId}, ${made.tenantId}, ${made.grantedBy}, ${made.clientId}, ${made.resource},
      ${made.browserSessionId})`;
}

/** The live grants of a person beyond the newest ones, least recently used first. */
export function findSurplusGrants(tenantId: string, grantedBy: string, keptMax: number) {
  return sql<{ credential_id: string }>`
    select g.credential_id from oauth_grants g join platform_access_tokens c on c.id = g.credential_id
    where g.granted_by = ${grantedBy} and g.tenant_id = ${tenantId} and c.revoked_at is null and c.expires_at > now()
    order by coalesce(c.last_used_at, c.created_at) desc, c.id offset ${keptMax}`;
}

export function findTenantName(tenantId: string) {
  return sql<{ name: string }>`select name from tenants where id = ${tenantId}`;
}

/** The scopes of an active audience; no row for any other. */
export function findAudienceScopes(tenantId: string, audience: string) {
  return sql<{ allowed_scopes: string[] }>`
    select allowed_scopes from audiences where tenant_id = ${tenantId} and key = ${audience} and status = 'active'`;
}

/**
 * Whether a person may connect a client as an agent. Revoking the permission waits until the grant is stored, and then
 * revokes the grant.
 */
export function shareConnector(tenantId: string, personId: string, agentId: string) {
  return sql<{ agent_id: string }>`
    select agent_id from agent_connectors
    where tenant_id = ${tenantId} and person_id = ${personId} and agent_id = ${agentId} for share`;
}

/** The agents that a person may connect a client as. */
export function findConnectableAgents(tenantId: string, personId: string, rowsMax: number) {
  return sql<{ id: string; display_name: string }>`
    select p.id, p.display_name from agent_connectors a
    join principals p on p.id = a.agent_id
    join memberships m on m.principal_id = p.id and m.tenant_id = a.tenant_id
    where a.tenant_id = ${tenantId} and a.person_id = ${personId} and p.kind = 'agent' and p.status = 'active'
      and m.status = 'active'
    order by p.display_name, p.id limit ${rowsMax}`;
}
