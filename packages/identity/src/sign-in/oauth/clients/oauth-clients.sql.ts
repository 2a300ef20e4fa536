import { sql } from '@baton/kernel/database/sql';
import type { OauthClientRow } from './oauth-client.ts';

/** Clients of a tenant are registered one at a time, so that their number is exact. */
export function lockTenantForClients(tenantId: string) {
  return sql`select id from tenants where id = ${tenantId} for no key update`;
}

export function insertClient(made: {
  id: string;
  tenantId: string;
  clientId: string;
  name: string;
  redirectUris: readonly string[];
}) {
  return sql<OauthClientRow>`
    insert into oauth_clients (id, tenant_id, client_id, name, redirect_uris)
    values (${made.id}, ${made.tenantId}, ${made.clientId}, ${made.name}, ${made.redirectUris})
    returning id, tenant_id, client_id, name, redirect_uris, created_at`;
}

export function findClients(tenantId: string) {
  return sql<OauthClientRow>`
    select id, tenant_id, client_id, name, redirect_uris, created_at from oauth_clients
    where tenant_id = ${tenantId} order by created_at, id`;
}

/** Only in an active tenant. */
export function findClientByClientId(clientId: string) {
  return sql<OauthClientRow>`
    select c.id, c.tenant_id, c.client_id, c.name, c.redirect_uris, c.created_at
    from oauth_clients c join tenants t on t.id = c.tenant_id
    where c.client_id = ${clientId} and t.status = 'active'`;
}

export function deleteClient(tenantId: string, id: string) {
  return sql<OauthClientRow>`
    delete from oauth_clients where tenant_id = ${tenantId} and id = ${id}
    returning id, tenant_id, client_id, name, redirect_uris, created_at`;
}
