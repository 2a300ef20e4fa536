import { sql } from '@baton/kernel/sql';

export interface GrantBasisRow {
  /** Null when it isn't an active audience of the tenant. */
  allowed_scopes: string[] | null;
  /** Those of `groupKeys` that the person is in. */
  member_of: string[];
  now_seconds: number;
}

/** What a grant rests on. Only an active group that is kept here entitles, whoever brought the membership. */
export function findGrantBasis(wanted: {
  tenantId: string;
  principalId: string;
  audience: string;
  groupKeys: readonly string[];
}) {
  return sql<GrantBasisRow>`
    select
      (select allowed_scopes from audiences
        where tenant_id = ${wanted.tenantId} and key = ${wanted.audience} and status = 'active') as allowed_scopes,
      array(
        select g.key from groups g join group_members m on m.group_id = g.id
        where g.tenant_id = ${wanted.tenantId} and m.principal_id = ${wanted.principalId}
          and g.key = any (${wanted.groupKeys}::text[]) and g.source = 'local' and g.status = 'active') as member_of,
      floor(extract(epoch from now()))::bigint as now_seconds`;
}
