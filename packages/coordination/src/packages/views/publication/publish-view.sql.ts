import { sql } from '@baton/kernel/database/sql';
import type { ViewRow } from '../view.ts';
import type { ViewSpec } from '../view-spec.ts';

/** A stored view, retired or not, locked until the commit. */
export function lockView(tenantId: string, key: string) {
  return sql<Pick<ViewRow, 'id' | 'version' | 'status'> & { spec_hash: string }>`
    select id, version, status, spec_hash from views where tenant_id = ${tenantId} and key = ${key} for no key update`;
}

/** Whether the tenant has at least this number of views. */
export function hasViews(tenantId: string, rows: number) {
  return sql<{ has: boolean }>`
    select count(*) >= ${rows}::integer as has from (
      select from views where tenant_id = ${tenantId} and status = 'active' limit ${rows}
    ) as counted`;
}

interface WrittenView {
  readonly tenantId: string;
  readonly key: string;
  readonly spec: ViewSpec;
  readonly specHash: string;
}

export function insertView({ tenantId, key, spec, specHash }: WrittenView, id: string, principalId: string) {
  return sql`
    insert into views (id, tenant_id, key, spec, spec_hash, created_by)
    values (${id}, ${tenantId}, ${key}, ${JSON.stringify(spec)}, ${specHash}, ${principalId})`;
}

/** Inserts the next version of a view, which makes the view active. */
export function updateView({ tenantId, key, spec, specHash }: WrittenView) {
  return sql`
    update views
    set spec = ${JSON.stringify(spec)}, spec_hash = ${specHash}, status = 'active', version = version + 1, updated_at = now()
    where tenant_id = ${tenantId} and key = ${key}`;
}

export function updateToRetired(tenantId: string, key: string) {
  return sql`
    update views set status = 'retired', version = version + 1, updated_at = now()
    where tenant_id = ${tenantId} and key = ${key}`;
}
