import { queryBuilder } from '@baton/kernel/database/db';
import { compiled, part, sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { AuditKey } from '../audit-chain/audit-key.ts';
import { encodeRecords } from '../audit-chain/record-mac.ts';
import type { AuditDraft, EventDraft } from '../drafts.ts';
import type { EventQuery, EventRow } from './event.ts';

/** Inserts audit rows in the given order. */
function insertRecords(audits: readonly AuditDraft[], key: AuditKey | undefined) {
  return part`insert into audit_records (
      id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, written_at, mac)
    select id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, written_at,
      decode(mac, 'hex')
    from jsonb_to_recordset(${encodeRecords(audits, key)}::jsonb) as d (
      n integer, id uuid, tenant_id uuid, action text, actor_ref text, resource_type text, resource_id uuid,
      outcome text, reason text, request_id text, written_at timestamptz, mac text)
    order by n`;
}

/** Journal rows and audit rows of one change in one statement, in the given order. */
export function insertEventsAndAudits(
  events: readonly EventDraft[],
  audits: readonly AuditDraft[],
  key: AuditKey | undefined,
) {
  return sql`
    with said as (
      insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload)
      select id, tenant_id, type, aggregate_type, aggregate_id, payload
      from jsonb_to_recordset(${numbered(events)}::jsonb) as d (
        n integer, id uuid, tenant_id uuid, type text, aggregate_type text, aggregate_id uuid, payload jsonb)
      order by n
    )
    ${insertRecords(audits, key)}`;
}

export function insertAudits(audits: readonly AuditDraft[], key: AuditKey | undefined) {
  return sql`
    ${insertRecords(audits, key)}`;
}

/** The number up to which no further event can appear. Read it before the rows, in a separate statement. */
export function findSettledSequence() {
  return sql<{ settled: number }>`select journal_settled() as settled`;
}

/**
 * The sequence of the next event, if any, of the last removed event and of the newest readable one. A reader never gets
 * a number that has no event: after a restore, that number would seem to belong to another history.
 */
export type FoundRow = (EventRow | { sequence: null }) & { floor: number; newest: number | null };

const build = queryBuilder<Pick<Tables, 'events' | 'journal_floor'>>();

/**
 * The next events, with the floor at the same moment; one row that only contains the floor if there is no event. The
 * statement's text contains only the given filters, so that PostgreSQL uses the index of the tenant or the type.
 */
export function findEventsAfter(
  { after, tenantId, type }: Pick<EventQuery, 'after' | 'tenantId' | 'type'>,
  settled: number,
  rowsMax: number,
) {
  let wanted = build
    .selectFrom('events')
    .select([
      'sequence',
      'id',
      'tenant_id',
      'type',
      'aggregate_type',
      'aggregate_id',
      'payload',
      'occurred_at',
    ])
    .where('sequence', '>', after)
    .where('sequence', '<=', settled)
    .orderBy('sequence')
    .limit(rowsMax);
  if (tenantId !== undefined) wanted = wanted.where('tenant_id', '=', tenantId);
  if (type !== undefined) wanted = wanted.where('type', '=', type);
  return compiled(
    build
      .selectFrom('journal_floor')
      .leftJoinLateral(wanted.as('found'), (join) => join.onTrue())
      .selectAll('found')
      .select([
        'floor',
        (is) =>
          is
            .selectFrom('events')
            .select(({ fn }) => fn.max('sequence').as('newest'))
            .where('sequence', '<=', settled)
            .as('newest'),
      ])
      .orderBy('sequence')
      .$castTo<FoundRow>(),
  );
}

/** The columns that a reader's filters are compared with. */
export type EventMark = Pick<EventRow, 'sequence' | 'tenant_id' | 'type'>;

export function findMarksAfter(after: number, settled: number, rowsMax: number) {
  return sql<EventMark>`
    select sequence, tenant_id, type from events
    where sequence > ${after} and sequence <= ${settled}
    order by sequence
    limit ${rowsMax}`;
}

function numbered(drafts: readonly object[]): string {
  return JSON.stringify(drafts.map((draft, n) => ({ ...draft, n })));
}
