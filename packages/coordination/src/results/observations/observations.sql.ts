import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import type { Observable } from './observation.ts';

export type ObservationRow = RowOf<Tables['observations']>;

export type NewObservationValues = Omit<ObservationRow, 'recorded_at'>;

/** Returns no row when the same author has already recorded the observation; waits for a concurrent insert. */
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

/** An observation, and whether its author is a prover; observations by provers come first. */
type FoundObservation = Pick<ObservationRow, 'id' | 'event_id'> & { is_proof: boolean };

/**
 * How many of the newest observations are examined, so that a flood from other sources costs only a few milliseconds.
 */
const candidatesMax = 1000;

/**
 * The newest observation about a task that hasn't been superseded; no row if none of the newest 1,000 matches. An
 * observation of a non-prover doesn't supersede one of a prover, and is returned only if there is none of a prover.
 */
export function findNewestOfTask(tenantId: string, { kind, source, taskId, barred }: Observable) {
  return sql<FoundObservation>`
    select o.id, o.event_id, o.created_by <> all (${barred}::uuid[]) as is_proof from (
      select id, event_id, source, recorded_at, created_by from observations
      where tenant_id = ${tenantId} and task_id = ${taskId ?? null} and kind = ${kind}
      order by recorded_at desc, id desc limit ${candidatesMax}) o
    where (${source ?? null}::text is null or o.source = ${source ?? null})
      and not exists (
        select from observations later
        where later.supersedes = o.event_id
          and (later.created_by <> all (${barred}::uuid[]) or o.created_by = any (${barred}::uuid[])))
    order by is_proof desc, o.recorded_at desc, o.id desc limit 1`;
}

/** Like `findNewestOfTask`, but about an external object, and also about a task if one is given. */
export function findNewestOfReference(
  tenantId: string,
  { system, id }: { system: string; id: string },
  { kind, source, taskId, barred }: Observable,
) {
  return sql<FoundObservation>`
    select o.id, o.event_id, o.created_by <> all (${barred}::uuid[]) as is_proof from (
      select id, event_id, source, task_id, recorded_at, created_by from observations
      where tenant_id = ${tenantId} and hashtextextended(external_id, 0) = hashtextextended(${id}, 0)
        and external_id = ${id} and external_system = ${system} and kind = ${kind}
      order by recorded_at desc, id desc limit ${candidatesMax}) o
    where (${source ?? null}::text is null or o.source = ${source ?? null})
      and (${taskId ?? null}::uuid is null or o.task_id = ${taskId ?? null})
      and not exists (
        select from observations later
        where later.supersedes = o.event_id
          and (later.created_by <> all (${barred}::uuid[]) or o.created_by = any (${barred}::uuid[])))
    order by is_proof desc, o.recorded_at desc, o.id desc limit 1`;
}

/** The payload of an observation's event, archived or not; no row if it was pruned. */
export function findObservedPayload(tenantId: string, observationId: string, eventId: string) {
  return sql<{ payload: JsonObject }>`
    select payload from events where tenant_id = ${tenantId} and entity_id = ${observationId} and id = ${eventId}
    union all
    select payload from archived_events
    where tenant_id = ${tenantId} and entity_id = ${observationId} and id = ${eventId}
    limit 1`;
}
