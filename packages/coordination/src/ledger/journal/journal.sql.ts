import { sql } from '@baton/kernel/database/sql';
import type { EventDraft } from '../event-draft.ts';
import { writeDrafts } from './write-events.sql-parts.ts';

/**
 * Writes journal rows and their outbox rows in one statement, in the given order.
 * @param writesOutbox whether the events are also written for delivery to sinks
 */
export function insertEvents(tenantId: string, drafts: readonly EventDraft[], writesOutbox: boolean) {
  return sql`
    with drafts as (
      select d.* from jsonb_to_recordset(${JSON.stringify(drafts.map((draft, n) => ({ ...draft, n })))}::jsonb) as d (
        n integer, id uuid, type text, schema_version integer, entity_type text, entity_id uuid, workspace_id uuid,
        actor_id uuid, iam_actor_id uuid, session_id uuid, correlation_id text, causation_id text, request_id text,
        trace_run_id text, payload jsonb)
    ), ${writeDrafts(tenantId, writesOutbox)}
    select from written where false`;
}
