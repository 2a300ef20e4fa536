import { sql } from '@baton/kernel/database/sql';
import type { IamBindingRow } from '../iam-bindings/iam-binding.ts';

export type IdentityRow = Pick<
  IamBindingRow,
  'id' | 'principal_id' | 'issuer' | 'iam_tenant_id' | 'iam_principal_id' | 'status' | 'last_used_at'
>;

/** How many bindings are read per principal, besides those of certain identities. */
export interface BindingsOf {
  readonly tenantId: string;
  readonly principalIds: readonly string[];
  readonly bindingsMax: number;
  /** Ids in identity that are always read. */
  readonly iamPrincipalIds: readonly string[];
}

/** The live bindings of principals: those of the given identities, then others, newest first. */
export function findIdentitiesOf({ tenantId, principalIds, bindingsMax, iamPrincipalIds }: BindingsOf) {
  return sql<IdentityRow>`
    select b.* from unnest(${principalIds}::uuid[]) as p (id)
    cross join lateral (
      select id, principal_id, issuer, iam_tenant_id, iam_principal_id, status, last_used_at
      from iam_bindings
      where principal_id = p.id and tenant_id = ${tenantId} and status <> 'revoked'
      order by iam_principal_id = any (${iamPrincipalIds}::uuid[]) desc, created_at desc, id desc
      limit ${bindingsMax + iamPrincipalIds.length}) b`;
}

export interface AccessRow {
  principal_id: string;
  access_role: string | null;
  permissions: string[];
  last_used_at: string | null;
}

/** What all live bindings of principals grant together, and the role that all of them name. */
export function findAccessOf(tenantId: string, principalIds: readonly string[]) {
  return sql<AccessRow>`
    select b.principal_id,
      case when count(distinct coalesce(b.access_role, '')) = 1 then min(b.access_role) end as access_role,
      array(
        select distinct held.permission collate "C" from iam_bindings l cross join unnest(l.permissions) as held (permission)
        where l.principal_id = b.principal_id and l.tenant_id = ${tenantId} and l.status <> 'revoked'
        order by 1) as permissions,
      max(b.last_used_at)::timestamptz(3) as last_used_at
    from iam_bindings b
    where b.principal_id = any (${principalIds}::uuid[]) and b.tenant_id = ${tenantId} and b.status <> 'revoked'
    group by b.principal_id`;
}

/** The ids in identity of revoked bindings: the given ones, then others, newest first. */
export function findFormerIdentities({ tenantId, principalIds, bindingsMax, iamPrincipalIds }: BindingsOf) {
  return sql<{ principal_id: string; iam_principal_ids: string[] }>`
    select p.id as principal_id, array(
      select iam_principal_id from iam_bindings
      where principal_id = p.id and tenant_id = ${tenantId} and status = 'revoked'
      order by iam_principal_id = any (${iamPrincipalIds}::uuid[]) desc, created_at desc, id desc
      limit ${bindingsMax + iamPrincipalIds.length}) as iam_principal_ids
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
