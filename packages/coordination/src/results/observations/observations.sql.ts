import { queryBuilder } from '@baton/kernel/db';
import { condition } from '@baton/kernel/list';
import type { RowOf } from '@baton/kernel/row';
import { compiled, type Statement, sql } from '@baton/kernel/sql';
import type { JsonObject } from '@baton/kernel/wire';
import type { Tables } from '../../service/schema.ts';
import type { Observable } from './observation.ts';

export type ObservationRow = RowOf<Tables['observations']>;

export type NewObservationValues = Omit<ObservationRow, 'recorded_at'>;

/** No row when the same author has recorded the same already: whoever is writing it is waited for. */
export function insertObservation(values: NewObservationValues) {
  return sql<ObservationRow>`
    insert into observations (id, event_id, tenant_id, created_by, kind, source, dedup_key, task_id, run_id, workspace_id,
      external_system, external_id, supersedes)
    values (${values.id}, ${values.event_id}, ${values.tenant_id}, ${values.created_by}, ${values.kind}, ${values.source},
      ${values.dedup_key}, ${values.task_id}, ${values.run_id}, ${values.workspace_id}, ${values.external_system}, ${values.external_id}, ${values.supersedes})
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

const build = queryBuilder<Pick<Tables, 'observations'>>();
/** So many of the newest ones are looked at, so that a flood of others from other sources costs a few milliseconds. */
const candidatesMax = 1000;

/** The newest observation that no later one supersedes; none where the newest 1,000 have another source or are superseded. */
export function findNewestObservation(
  tenantId: string,
  { kind, source, taskId, externalRef }: Observable,
): Statement<Pick<ObservationRow, 'id' | 'event_id'>> {
  let candidates = build
    .selectFrom('observations')
    .select(['id', 'event_id', 'source', 'recorded_at'])
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', kind);
  if (taskId !== undefined) candidates = candidates.where('task_id', '=', taskId);
  if (externalRef !== undefined)
    candidates = candidates
      .where(condition`hashtextextended(external_id, 0) = hashtextextended(${externalRef.id}, 0)`)
      .where('external_id', '=', externalRef.id)
      .where('external_system', '=', externalRef.system);
  const newest = candidates.orderBy('recorded_at', 'desc').orderBy('id', 'desc').limit(candidatesMax);
  let wanted = build
    .selectFrom(newest.as('o'))
    .select(['o.id', 'o.event_id'])
    .where(condition`not exists (select from observations later where later.supersedes = o.event_id)`);
  if (source !== undefined) wanted = wanted.where('o.source', '=', source);
  return compiled(wanted.orderBy('o.recorded_at', 'desc').orderBy('o.id', 'desc').limit(1));
}

/** What the event of an observation says. */
export function findObservedPayload(tenantId: string, observationId: string, eventId: string) {
  return sql<{ payload: JsonObject }>`
    select payload from events where tenant_id = ${tenantId} and entity_id = ${observationId} and id = ${eventId}`;
}
