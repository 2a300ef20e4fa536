import { sql } from '@baton/kernel/database/sql';

/** The committed events, read from the tables. */

export interface StoredEvent {
  id: string;
  tenant_id: string;
  type: string;
  entity_id: string;
}

/** Keeps pruned events for the checker: consumers must have received them before they were pruned. */
export const keepPruned = [
  sql`
    create table chaos_pruned as select id, tenant_id, type, entity_id, position, sequence from archived_events where false`,
  sql`
    create function chaos_keep_pruned() returns trigger language plpgsql security definer as $$
    begin
      insert into chaos_pruned
      values (old.id, old.tenant_id, old.type, old.entity_id, old.position, old.sequence);
      return null;
    end $$`,
  sql`
    create trigger chaos_keep_pruned after delete on archived_events
    for each row execute function chaos_keep_pruned()`,
];

/** Every event in the promised order (docs/reference/journal.md#order), archived, pruned or neither. */
export function findStoredEvents() {
  return sql<StoredEvent>`
    select id, tenant_id, type, entity_id from (
      select id, tenant_id, type, entity_id, position, sequence from events
      union all
      select id, tenant_id, type, entity_id, position, sequence from archived_events
      union all
      select id, tenant_id, type, entity_id, position, sequence from chaos_pruned
    ) stored
    order by tenant_id, position, sequence`;
}

export const countPutAway = sql<{ archived: number; pruned: number }>`
  select (select count(*) from archived_events) as archived, (select count(*) from chaos_pruned) as pruned`;

/** Whether an open transaction still hides committed events. */
export function findHeldBack() {
  return sql<{ is_held: boolean }>`
    select exists (select from events where position >= (select journal_horizon())) as is_held`;
}

/** Reads without the horizon: everything visible after the last event. */
export function findVisibleAfter(tenantId: string, position: number, sequence: number) {
  return sql<{ id: string; position: number; sequence: number }>`
    select id, position, sequence from (
      select id, tenant_id, position, sequence from events
      union all
      select id, tenant_id, position, sequence from archived_events
    ) stored
    where tenant_id = ${tenantId} and (position, sequence) > (${position}, ${sequence})
    order by position, sequence limit 200`;
}

/** Reads by sequence only. */
export function findVisibleAfterSequence(tenantId: string, sequence: number) {
  return sql<{ id: string; position: number; sequence: number }>`
    select id, position, sequence from (
      select id, tenant_id, position, sequence from events
      union all
      select id, tenant_id, position, sequence from archived_events
    ) stored
    where tenant_id = ${tenantId} and sequence > ${sequence} order by sequence limit 200`;
}

/** Lets the service's own readers ignore the horizon. */
export const ignoreHorizon = sql`
  create or replace function journal_horizon() returns bigint language sql stable as 'select 9007199254740990::bigint'`;

/** Ends some connections of the services and of the writers at arbitrary points. */
export function terminateBackends(count: number) {
  return sql<{ ended: boolean }>`
    select pg_terminate_backend(pid) as ended from (
      select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'chaos'
      order by random() limit ${count}
    ) chosen`;
}

/** Assigns an id to the transaction, which delays every reader from now on. */
export const takeNumber = sql<{ number: string }>`select pg_current_xact_id()::text as number`;
