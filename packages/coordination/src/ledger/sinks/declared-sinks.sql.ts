import { sql } from '@baton/kernel/database/sql';

/** A declared sink. */
export interface DeclaredSink {
  readonly name: string;
  readonly filter_digest: string;
  /** Null for all. */
  readonly tenants: readonly string[] | null;
  readonly type_patterns: readonly string[] | null;
  /** The maximum number of events per delivery; null for CP_OUTBOX_BATCH_SIZE. */
  readonly events_max: number | null;
}

/**
 * Declares the sinks of this worker. After the start, this only renews existing declarations, because another worker's
 * file may have discarded a sink.
 * @returns the declared ones
 */
export function declareSinks(sinks: readonly DeclaredSink[], isStart: boolean) {
  return sql<{ name: string }>`
    insert into outbox_sinks as o (name, filter_digest, tenants, type_patterns, events_max)
    select s.name, s.filter_digest, s.tenants, s.type_patterns, s.events_max
    from jsonb_to_recordset(${JSON.stringify(sinks)}::jsonb)
      as s (name text, filter_digest text, tenants uuid[], type_patterns text[], events_max integer)
    where ${isStart}::boolean or exists (select from outbox_sinks there where there.name = s.name)
    order by s.name, s.filter_digest
    on conflict (name, filter_digest) do update set seen_at = now(), events_max = excluded.events_max
    returning o.name`;
}

/** Deletes filters that no worker has declared for an hour, if another filter of the same sink is in use. */
export function deleteOldFilters() {
  return sql`
    delete from outbox_sinks o
    where seen_at < now() - interval '1 hour' and exists (
      select from outbox_sinks used where used.name = o.name and used.seen_at > now() - interval '10 minutes')`;
}

export function deleteDeclared(names: readonly string[]) {
  return sql`delete from outbox_sinks where name = any (${names}::text[])`;
}

/** All declared sinks, and whether no worker has declared them in the last ten minutes. */
export function findDeclared() {
  return sql<{ name: string; is_forgotten: boolean }>`
    select name, max(seen_at) < now() - interval '10 minutes' as is_forgotten
    from outbox_sinks group by name order by name`;
}
