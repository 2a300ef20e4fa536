import { sql } from '@baton/kernel/sql';

export interface ServiceAccountRow {
  id: string;
  tenant_id: string;
  principal_id: string;
  audiences: string[];
  scope_ceiling: string[];
  revoked_at: string | null;
}

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

export function lockServiceAccount(tenantId: string, clientId: string) {
  return sql<ServiceAccountRow>`
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

export function markRevoked(accountId: string) {
  return sql`update service_accounts set revoked_at = now() where id = ${accountId}`;
}
