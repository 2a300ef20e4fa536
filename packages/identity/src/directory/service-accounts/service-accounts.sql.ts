import { sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { LockedAccountRow, ServiceAccountRow } from './service-account.ts';

export function insertServiceAccount(account: {
  id: string;
  tenantId: string;
  principalId: string;
  clientId: string;
  storedHash: string;
  audiences: readonly string[];
  scopeCeiling: readonly string[];
}) {
  return sql`
    insert into service_accounts (id, tenant_id, principal_id, client_id, secret_hash, audiences, scope_ceiling)
    values (${account.id}, ${account.tenantId}, ${account.principalId}, ${account.clientId}, ${account.storedHash},
      ${account.audiences}, ${account.scopeCeiling})`;
}

export function findServiceAccounts(tenantId: string, { after, limit }: CreatedPage) {
  return sql<ServiceAccountRow>`
    select a.id, a.principal_id, a.client_id, p.display_name, a.audiences, a.scope_ceiling, a.created_at,
      a.revoked_at, a.last_used_at
    from service_accounts a join principals p on p.id = a.principal_id
    where a.tenant_id = ${tenantId} and (a.created_at, a.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
    order by a.created_at, a.id
    limit ${limit + 1}`;
}

export function findServiceAccount(tenantId: string, clientId: string) {
  return sql<ServiceAccountRow>`
    select a.id, a.principal_id, a.client_id, p.display_name, a.audiences, a.scope_ceiling, a.created_at,
      a.revoked_at, a.last_used_at
    from service_accounts a join principals p on p.id = a.principal_id
    where a.client_id = ${clientId} and a.tenant_id = ${tenantId}`;
}

export function lockServiceAccount(tenantId: string, clientId: string) {
  return sql<LockedAccountRow>`
    select id, tenant_id, principal_id, audiences, scope_ceiling, revoked_at from service_accounts
    where client_id = ${clientId} and tenant_id = ${tenantId}
    for no key update`;
}

export function updateReach(
  accountId: string,
  audiences: readonly string[],
  scopeCeiling: readonly string[],
) {
  return sql`
    update service_accounts set audiences = ${audiences}, scope_ceiling = ${scopeCeiling} where id = ${accountId}`;
}

export function updateSecret(accountId: string, storedHash: string) {
  return sql`update service_accounts set secret_hash = ${storedHash} where id = ${accountId}`;
}

export function updateRevoked(accountId: string) {
  return sql`update service_accounts set revoked_at = now() where id = ${accountId}`;
}
