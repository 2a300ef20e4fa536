import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

export type IntentKind = 'snapshot' | 'document' | 'pack' | 'configuration';
export type IntentRow = RowOf<Tables['knowledge_intents'], { kind: IntentKind; facts: JsonObject }>;
export type NewIntent = Omit<IntentRow, 'attempts' | 'due_at' | 'created_at'>;

/** Finds an unfinished write of the same object, or under the same key. */
export function findConflictingIntent({ tenant_id, kind, subject, idempotency_key }: NewIntent) {
  return sql<Pick<IntentRow, 'idempotency_key' | 'fingerprint'>>`
    select idempotency_key, fingerprint from knowledge_intents
    where tenant_id = ${tenant_id} and ((kind = ${kind} and subject = ${subject}) or idempotency_key = ${idempotency_key})
    order by (idempotency_key = ${idempotency_key}) is true desc limit 1`;
}

/**
 * Inserts no row if an unfinished write of the object, or under the key, already exists. @param leaseSeconds the lease
 * of the writing process
 */
export function insertIntent(intent: NewIntent, leaseSeconds: number) {
  return sql`
    insert into knowledge_intents (id, tenant_id, kind, subject, path, body, facts, principal_id, iam_principal_id,
      request_id, correlation_id, trace_run_id, idempotency_key, fingerprint, due_at)
    values (${intent.id}, ${intent.tenant_id}, ${intent.kind}, ${intent.subject}, ${intent.path}, ${intent.body},
      ${JSON.stringify(intent.facts)}, ${intent.principal_id}, ${intent.iam_principal_id}, ${intent.request_id},
      ${intent.correlation_id}, ${intent.trace_run_id}, ${intent.idempotency_key}, ${intent.fingerprint},
      clock_timestamp() + make_interval(secs => ${leaseSeconds}))
    on conflict do nothing`;
}

/** Deletes the intent; changes no row if another process has deleted it. */
export function deleteIntent(tenantId: string, id: string) {
  return sql`delete from knowledge_intents where id = ${id} and tenant_id = ${tenantId}`;
}

/** Leases intents of crashed processes to the worker, longest overdue first. */
export function leaseDueIntents(rowsMax: number, leaseSeconds: number) {
  return sql<IntentRow>`
    update knowledge_intents i
    set due_at = clock_timestamp() + make_interval(secs => ${leaseSeconds}), attempts = i.attempts + 1
    from (
      select id from knowledge_intents where due_at <= clock_timestamp()
      order by due_at, id limit ${rowsMax} for update skip locked
    ) due
    where i.id = due.id
    returning i.*`;
}

/** Schedules a retry by the worker. */
export function postponeIntent({ tenant_id, id }: IntentRow, waitSeconds: number) {
  return sql`
    update knowledge_intents set due_at = clock_timestamp() + make_interval(secs => ${waitSeconds})
    where id = ${id} and tenant_id = ${tenant_id}`;
}

/** Whether one of the newest 1,000 events of an object has this type and contains these facts. */
export function findWrittenEvent(tenantId: string, entityId: string, type: string, facts: JsonObject) {
  return sql<{ written: boolean }>`
    select exists (
      select from (
        (select type, payload from events where tenant_id = ${tenantId} and entity_id = ${entityId}
          order by position desc, sequence desc limit 1000)
        union all
        (select type, payload from archived_events where tenant_id = ${tenantId} and entity_id = ${entityId}
          order by position desc, sequence desc limit 1000)
      ) newest
      where type = ${type} and payload @> ${JSON.stringify(facts)}::jsonb
    ) as written`;
}
