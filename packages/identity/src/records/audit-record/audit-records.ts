import type { Db } from '@baton/kernel/database/db';
import type { AuditPage, AuditQuery } from './audit-record.ts';
import { findAuditBounds, findAudits } from './audit-records.sql.ts';

/** Reads a page of the audit log (see docs/reference/audit.md#audit-records). */
export async function listAuditRecords(db: Db, query: AuditQuery): Promise<AuditPage> {
  const { from, to, order, after, limit } = query;
  // Read in a separate statement before the rows: see audit_settled().
  const bounds = await db.row(findAuditBounds(from, to));
  const settled = bounds?.settled ?? 0;
  const last = Math.min(settled, bounds?.last ?? settled);
  const rows = await db.rows(
    findAudits({
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
