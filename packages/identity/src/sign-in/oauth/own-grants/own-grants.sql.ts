import { sql } from '@baton/kernel/database/sql';
import type { OwnGrantRow } from './own-grant.ts';

/** The live grants of a person in a tenant, including those by which they have connected a client as an agent. */
export function findOwnGrants(tenantId: string, personId: string, rowsMax: number) {
  return sql<OwnGrantRow>`
    select c.id, c.name, c.scope_ceiling, c.created_at, c.last_used_at, c.expires_at, g.client_id,
      case when p.id <> g.granted_by then p.id end as agent_id,
      case when p.id <> g.granted_by then p.display_name end as agent_name
    from oauth_grants g
    join platform_access_tokens c on c.id = g.credential_id
    join principals p on p.id = c.principal_id
    where g.granted_by = ${personId} and g.tenant_id = ${tenantId} and c.revoked_at is null
      and c.generation = p.token_generation and c.expires_at > now()
    order by c.created_at desc, c.id limit ${rowsMax}`;
}

export function findOwnGrant(tenantId: string, personId: string, grantId: string) {
  return sql<{ credential_id: string }>`
    select credential_id from oauth_grants
    where credential_id = ${grantId} and tenant_id = ${tenantId} and granted_by = ${personId}`;
}
