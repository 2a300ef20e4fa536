import { sql } from '@baton/kernel/database/sql';

export type TriggerKind = 'start' | 'correlate';

export interface TriggerRow {
  tenant_id: string;
  definition_key: string;
  definition_version: number;
  kind: TriggerKind;
  number: number;
  wait_key: string;
}

/**
 * @param from versions whose instances migrate to this one, so that it also receives events that they have not
 * processed yet
 */
export function insertTriggers(
  tenantId: string,
  key: string,
  version: number,
  triggers: readonly object[],
  from: readonly number[],
) {
  return sql`
    insert into process_triggers (tenant_id, definition_key, definition_version, kind, number, wait_key, from_position)
    select ${tenantId}::uuid, ${key}::text, ${version}::integer, t.kind, t.number, t.wait_key,
      case when t.kind = 'start' then journal_position() else least(journal_position(), (
        select min(b.from_position) from process_triggers b
        where b.tenant_id = ${tenantId} and b.definition_key = ${key} and b.definition_version = any (${from}::integer[])
      )) end
    from jsonb_to_recordset(${JSON.stringify(triggers)}::jsonb) as t (kind text, number integer, wait_key text)
    on conflict do nothing`;
}

/** Older versions and retired keys start no instances; running instances still receive their events. */
export function deleteStarts(tenantId: string, key: string) {
  return sql`
    delete from process_triggers where tenant_id = ${tenantId} and definition_key = ${key} and kind = 'start'`;
}

/** Returns those of the given keys that any definition waits for. */
export function findTriggeringKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ wait_key: string }>`
    select key as wait_key from unnest(${keys}::text[]) as key
    where exists (select from process_triggers t where t.tenant_id = ${tenantId} and t.wait_key = key)`;
}

/** One version of a definition; events are matched against versions in this order. */
export interface TriggerPlace {
  readonly definition_key: string;
  readonly definition_version: number;
}

/**
 * The triggers that an event at this position may match, after a given trigger, at most `rowsMax`, in a fixed order.
 * Versions without an open instance have no correlations.
 */
export function findTriggers(
  tenantId: string,
  waitKey: string,
  position: number,
  after: TriggerPlace,
  rowsMax: number,
) {
  return sql<TriggerRow>`
    select tenant_id, definition_key, definition_version, kind, number, wait_key from process_triggers t
    where tenant_id = ${tenantId} and wait_key = ${waitKey} and from_position < ${position}
      and (definition_key, definition_version) > (${after.definition_key}, ${after.definition_version}::integer)
      and (kind = 'start' or exists (
        select from process_instances i
        where i.tenant_id = t.tenant_id and i.definition_key = t.definition_key
          and i.definition_version = t.definition_version and i.status in ('running', 'suspended')))
    order by definition_key, definition_version, kind, number limit ${rowsMax}`;
}

/** The trigger with which an event starts an instance of a definition. */
export function findStart(tenantId: string, definitionKey: string, waitKey: string, position: number) {
  return sql<TriggerRow>`
    select tenant_id, definition_key, definition_version, kind, number, wait_key from process_triggers
    where tenant_id = ${tenantId} and definition_key = ${definitionKey} and kind = 'start' and wait_key = ${waitKey}
      and from_position < ${position}`;
}

export function findTriggerPlace(tenantId: string, eventId: string) {
  return sql<TriggerPlace>`
    select definition_key, definition_version from process_trigger_places
    where tenant_id = ${tenantId} and event_id = ${eventId}`;
}

export function upsertTriggerPlace(tenantId: string, eventId: string, place: TriggerPlace) {
  return sql`
    insert into process_trigger_places as p (tenant_id, event_id, definition_key, definition_version)
    values (${tenantId}, ${eventId}, ${place.definition_key}, ${place.definition_version})
    on conflict (tenant_id) do update set event_id = excluded.event_id, definition_key = excluded.definition_key,
      definition_version = excluded.definition_version`;
}

export function deleteTriggerPlace(tenantId: string) {
  return sql`delete from process_trigger_places where tenant_id = ${tenantId}`;
}

/** The number of open instances of each version, newest version first. */
export function countOpenInstances(tenantId: string, key: string) {
  return sql<{ version: number; open_instances: number }>`
    select definition_version as version, count(*)::integer as open_instances from process_instances
    where tenant_id = ${tenantId} and definition_key = ${key} and status in ('running', 'suspended')
    group by definition_version order by definition_version desc`;
}
