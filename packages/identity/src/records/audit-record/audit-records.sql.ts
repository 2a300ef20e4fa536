import { queryBuilder } from '@baton/kernel/database/db';
import { compiled, sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { AuditRow } from './audit-record.ts';

/**
 * The number up to which no further record can appear, and the range of record numbers that a period covers. A record
 * has the time at which its transaction began and gets its number at the end; a minute is far longer than a
 * transaction.
 */
export function findAuditBounds(from: string | undefined, to: string | undefined) {
  return sql<{ settled: number; before: number | null; last: number | null }>`
    select audit_settled() as settled,
      audit_number_before(${from ?? null}::timestamptz - interval '1 minute') as before,
      audit_number_before(${to ?? null}::timestamptz + interval '1 minute') as last`;
}

/** The columns that a reader may filter by, each with one value. */
export type AuditMatch = Partial<
  Pick<
    AuditRow,
    'tenant_id' | 'action' | 'actor_ref' | 'resource_type' | 'resource_id' | 'outcome' | 'request_id'
  >
>;

export interface AuditSearch {
  match: AuditMatch;
  from: string | undefined;
  to: string | undefined;
  /** Numbers, both exclusive. */
  above: number;
  below: number;
  order: 'asc' | 'desc';
  rowsMax: number;
}

const build = queryBuilder<Pick<Tables, 'audit_records'>>();

/** These actions and types are those of most records, so the indexes by action and by type leave them out (0003). */
const commonActions = ['platform_access_tokens.exchange', 'tokens.exchange'];
const commonTypes = ['platform_access_token', 'service_account'];

const columns = [
  'sequence',
  'id',
  'tenant_id',
  'action',
  'actor_ref',
  'resource_type',
  'resource_id',
  'outcome',
  'reason',
  'request_id',
  'occurred_at',
] as const satisfies readonly (keyof AuditRow)[];

/** The statement's text contains only the given filters, so that each search has its own plan and uses its index. */
export function findAudits({ match, from, to, above, below, order, rowsMax }: AuditSearch) {
  let query = build.selectFrom('audit_records').select(columns).limit(rowsMax);
  const { tenant_id: tenantId, ...others } = match;
  const hasEnd = (order === 'asc' ? to : from) !== undefined;
  const isByTenant = tenantId !== undefined && !hasEnd && !hasOwnIndex(match);
  // The comparison as pairs makes PostgreSQL use the tenant's index. For a tenant with most of the records, the planner
  // considers a search by the primary key cheap, which is wrong if the tenant's records are all at the other end. A
  // scan by pairs stops only at the end of the tenant's records, so a search with an upper end doesn't use it.
  query = isByTenant
    ? query
        .where(({ eb, refTuple, tuple }) =>
          eb(refTuple('tenant_id', 'sequence'), '>', tuple(tenantId, above)),
        )
        .where(({ eb, refTuple, tuple }) =>
          eb(refTuple('tenant_id', 'sequence'), '<', tuple(tenantId, below)),
        )
        .orderBy('tenant_id', order)
        .orderBy('sequence', order)
    : query.where('sequence', '>', above).where('sequence', '<', below).orderBy('sequence', order);
  for (const [column, value] of Object.entries(isByTenant ? others : match) as [keyof AuditMatch, string?][])
    if (value !== undefined) query = query.where(column, '=', value);
  if (from !== undefined) query = query.where('occurred_at', '>=', from);
  if (to !== undefined) query = query.where('occurred_at', '<=', to);
  return compiled(query.$castTo<AuditRow>());
}

/** Whether the search has a filter that is more selective than the tenant. */
function hasOwnIndex({ action, actor_ref, resource_type, resource_id, request_id }: AuditMatch): boolean {
  if (action !== undefined && !commonActions.includes(action)) return true;
  if (resource_type !== undefined && !commonTypes.includes(resource_type)) return true;
  return actor_ref !== undefined || resource_id !== undefined || request_id !== undefined;
}
