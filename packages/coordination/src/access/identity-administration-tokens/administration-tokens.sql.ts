import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

type Columns = RowOf<Tables['identity_administrations']>;

/**
 * The active binding of an administrator, locked against changes.
 * @param isStored whether the permissions stored here decide, and not an external decision point
 */
export function lockAdministratorBinding(of: {
  tenantId: string;
  principalId: string;
  bindingId: string;
  isStored: boolean;
}) {
  return sql<{ id: string }>`
    select id from iam_bindings
    where id = ${of.bindingId} and tenant_id = ${of.tenantId} and principal_id = ${of.principalId}
      and status = 'active' and (not ${of.isStored}::boolean or 'admin' = any (permissions))
    for share`;
}

/** Requests of a person wait for each other here, so that the maximum is exact. */
export function lockAdministrationsOf(bindingId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`identity-administrations/${bindingId}`}, 0))`;
}

export function countLiveAdministrations(tenantId: string, bindingId: string) {
  return sql<{ live: number; soonest: number }>`
    select count(*)::int as live, coalesce(ceil(extract(epoch from min(expires_at) - now())), 1)::int as soonest
    from identity_administrations
    where binding_id = ${bindingId} and tenant_id = ${tenantId} and expires_at > now()`;
}

export function insertAdministration(made: {
  tokenId: string;
  iamTenantId: string;
  tenantId: string;
  principalId: string;
  bindingId: string;
  expiresAt: string;
}) {
  return sql`
    insert into identity_administrations (token_id, iam_tenant_id, tenant_id, principal_id, binding_id, expires_at)
    values (${made.tokenId}, ${made.iamTenantId}, ${made.tenantId}, ${made.principalId}, ${made.bindingId}, ${made.expiresAt})`;
}

export type LostRow = Pick<Columns, 'token_id' | 'iam_tenant_id' | 'tenant_id' | 'principal_id'>;

/** Live tokens whose person is no longer an administrator. */
export function findLost(isStored: boolean, rowsMax: number) {
  return sql<LostRow>`
    select a.token_id, a.iam_tenant_id, a.tenant_id, a.principal_id from identity_administrations a
    where a.expires_at > now() and not exists (
      select from iam_bindings b join principals p on p.id = b.principal_id
      where b.id = a.binding_id and b.tenant_id = a.tenant_id and b.principal_id = a.principal_id
        and b.status = 'active' and p.status = 'active' and (not ${isStored}::boolean or 'admin' = any (b.permissions)))
    order by a.expires_at limit ${rowsMax}`;
}

/** Returns no row if another worker was faster. */
export function deleteAdministration(tenantId: string, tokenId: string) {
  return sql<Pick<Columns, 'token_id'>>`
    delete from identity_administrations where token_id = ${tokenId} and tenant_id = ${tenantId} returning token_id`;
}

export function deleteExpired(rowsMax: number) {
  return sql`
    delete from identity_administrations where token_id = any (array(
      select token_id from identity_administrations where expires_at <= now() limit ${rowsMax} for update skip locked))`;
}
