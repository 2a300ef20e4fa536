import type { Db } from '@baton/kernel/db';
import { type AuditRow, auditBounds, searchAudits } from './audit-record.sql.ts';

export interface AuditQuery {
  tenantId?: string | undefined;
  action?: string | undefined;
  actor?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  outcome?: 'allowed' | 'denied' | undefined;
  requestId?: string | undefined;
  /** Instants, both included. */
  from?: string | undefined;
  to?: string | undefined;
  order: 'asc' | 'desc';
  /** The last sequence that was read; undefined for the first page. */
  after?: number | undefined;
  limit: number;
}

/** A page of the audit record (contract, sections 13 and 18, W15). */
export async function readAudits(
  db: Db,
  query: AuditQuery,
): Promise<{ items: AuditRow[]; next_after: number | null }> {
  const { from, to, order, after, limit } = query;
  // In a statement of its own, before the rows: see audit_settled().
  const bounds = await db.row(auditBounds(from, to));
  const settled = bounds?.settled ?? 0;
  const last = Math.min(settled, bounds?.last ?? settled);
  const rows = await db.rows(
    searchAudits({
      match: {
        tenant_id: query.tenantId,
        action: query.action,
        actor_ref: query.actor,
        resource_type: query.resourceType,
        resource_id: query.resourceId,
        outcome: query.outcome,
        request_id: query.requestId,
      },
      from,
      to,
      above: Math.max(bounds?.before ?? 0, order === 'asc' ? (after ?? 0) : 0),
      below: Math.min(last + 1, order === 'desc' ? (after ?? last + 1) : last + 1),
      order,
      rowsMax: limit + 1,
    }),
  );
  const items = rows.slice(0, limit);
  const next = rows.length > limit ? items.at(-1)?.sequence : undefined;
  return { items, next_after: next ?? null };
}
