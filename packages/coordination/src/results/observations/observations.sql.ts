import type { RowOf } from '@baton/kernel/row';
import { sql } from '@baton/kernel/sql';
import type { Tables } from '../../service/schema.ts';

export type ObservationRow = RowOf<Tables['observations']>;

export type NewObservationValues = Omit<ObservationRow, 'recorded_at'>;

/** No row when the same author has recorded the same already: whoever is writing it is waited for. */
export function insertObservation(values: NewObservationValues) {
  return sql<ObservationRow>`
    insert into observations (id, event_id, tenant_id, created_by, kind, source, dedup_key, task_id, run_id, workspace_id)
    values (${values.id}, ${values.event_id}, ${values.tenant_id}, ${values.created_by}, ${values.kind}, ${values.source},
      ${values.dedup_key}, ${values.task_id}, ${values.run_id}, ${values.workspace_id})
    on conflict (tenant_id, created_by, source, dedup_key) where dedup_key is not null do nothing
    returning *`;
}

export function findRepeated(tenantId: string, createdBy: string, source: string, dedupKey: string) {
  return sql<ObservationRow>`
    select * from observations
    where tenant_id = ${tenantId} and created_by = ${createdBy} and source = ${source} and dedup_key = ${dedupKey}`;
}

export function findByEvent(tenantId: string, eventId: string) {
  return sql<{ id: string; workspace_id: string | null; task_id: string | null }>`
    select id, workspace_id, task_id from observations where event_id = ${eventId} and tenant_id = ${tenantId}`;
}

export function findOwnSession(tenantId: string, principalId: string, sessionId: string) {
  return sql<{ id: string }>`
    select id from sessions where id = ${sessionId} and tenant_id = ${tenantId} and principal_id = ${principalId}`;
}
