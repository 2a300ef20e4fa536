import { sql } from '@baton/kernel/database/sql';
import type { IamBindingRow } from '../iam-bindings/iam-binding.ts';

export type AccessRow = Pick<
  IamBindingRow,
  | 'id'
  | 'principal_id'
  | 'issuer'
  | 'iam_tenant_id'
  | 'iam_principal_id'
  | 'access_role'
  | 'permissions'
  | 'status'
  | 'last_used_at'
>;

/** The live bindings of principals, newest first, up to a given number per principal. */
export function findAccessOf(tenantId: string, principalIds: readonly string[], bindingsMax: number) {
  return sql<AccessRow>`
    select b.* from unnest(${principalIds}::uuid[]) as p (id)
    cross join lateral (
      select id, principal_id, issuer, iam_tenant_id, iam_principal_id, access_role, permissions, status, last_used_at
      from iam_bindings
      where principal_id = p.id and tenant_id = ${tenantId} and status <> 'revoked'
      order by created_at desc, id desc limit ${bindingsMax}) b`;
}

/** The ids in identity of revoked bindings, newest first, up to a given number per principal. */
export function findFormerIdentities(
  tenantId: string,
  principalIds: readonly string[],
  identitiesMax: number,
) {
  return sql<{ principal_id: string; iam_principal_ids: string[] }>`
    select p.id as principal_id, array(
      select iam_principal_id from iam_bindings
      where principal_id = p.id and tenant_id = ${tenantId} and status = 'revoked'
      order by created_at desc, id desc limit ${identitiesMax}) as iam_principal_ids
    from unnest(${principalIds}::uuid[]) as p (id)`;
}

export interface KeyUseRow {
  principal_id: string;
  live: number;
  last_used_at: string | null;
}

/** The API keys of principals: how many are live, and their last use. */
export function findKeyUseOf(tenantId: string, principalIds: readonly string[]) {
  return sql<KeyUseRow>`
    select principal_id,
      (count(*) filter (where revoked_at is null and (expires_at is null or expires_at > now())))::int as live,
      max(last_used_at)::timestamptz(3) as last_used_at
    from api_keys where principal_id = any (${principalIds}::uuid[]) and tenant_id = ${tenantId}
    group by principal_id`;
}
