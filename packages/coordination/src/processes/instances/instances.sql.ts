import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { RecallQuestion } from '@baton/process-engine/engine/inputs';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { Tables } from '../../service/schema.ts';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { InstanceRow, JournalRow, ShownRow } from './instance.ts';
import type { MigrationRow } from './migration/migrations.ts';

export type NewInstance = Pick<
  InstanceRow,
  | 'id'
  | 'tenant_id'
  | 'workspace_id'
  | 'definition_key'
  | 'definition_version'
  | 'instance_key'
  | 'identity_agent'
  | 'state'
  | 'started_at'
> &
  // For an instance that is called by a step of another instance.
  Partial<Pick<InstanceRow, 'parent_id' | 'root_id' | 'call_depth' | 'stays_until'>>;

/**
 * Returns no row if an instance with the key is running, or one with the id exists. Waits for a transaction that is
 * starting one.
 * @param waitMs the maximum wait, after which the insert fails with the lock timeout; null for the default
 */
export function insertInstance(made: NewInstance, waitMs: number | null = null) {
  return sql<InstanceRow>`
    with bound as materialized (
      select set_config('lock_timeout', coalesce(${waitMs === null ? null : `${waitMs}`}, current_setting('lock_timeout')), true)
    )
    insert into process_instances (id, tenant_id, workspace_id, definition_key, definition_version, instance_key,
      identity_agent, status, state, started_at, parent_id, root_id, call_depth, stays_until)
    select ${made.id}::uuid, ${made.tenant_id}::uuid, ${made.workspace_id}::uuid, ${made.definition_key},
      ${made.definition_version}::integer, ${made.instance_key}, ${made.identity_agent}, 'running',
      ${JSON.stringify(made.state)}::jsonb, ${made.started_at}::timestamptz, ${made.parent_id ?? null}::uuid,
      ${made.root_id ?? null}::uuid, ${made.call_depth ?? 0}::smallint, ${made.stays_until ?? 0}::integer
    from bound
    on conflict do nothing
    returning *`;
}

export function findInstance(tenantId: string, id: string) {
  return sql<ShownRow>`
    select *, clock_timestamp()::timestamptz(3) as now from process_instances
    where id = ${id} and tenant_id = ${tenantId}`;
}

export function lockInstance(tenantId: string, id: string) {
  return sql<InstanceRow>`
    select * from process_instances where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

/** Like `lockInstance`, but returns no row if another transaction has locked it. */
export function lockFreeInstance(tenantId: string, id: string) {
  return sql<InstanceRow>`
    select * from process_instances where id = ${id} and tenant_id = ${tenantId} for no key update skip locked`;
}

export function findOpenOfKey(tenantId: string, definitionKey: string, instanceKey: string) {
  return sql<Pick<InstanceRow, 'id' | 'definition_version' | 'identity_agent'>>`
    select id, definition_version, identity_agent from process_instances
    where tenant_id = ${tenantId} and definition_key = ${definitionKey} and instance_key = ${instanceKey}
      and status in ('running', 'suspended')`;
}

/** The database's clock, in wire format. */
export function readClock() {
  return sql<{ now: string }>`select clock_timestamp()::timestamptz(3) as now`;
}

export type InstanceValues = Pick<
  InstanceRow,
  'status' | 'outcome' | 'state' | 'sla_state' | 'journal_seq' | 'completed_at'
>;

export function updateInstance(tenantId: string, id: string, values: InstanceValues) {
  return sql<InstanceRow>`
    update process_instances
    set status = ${values.status}, outcome = ${values.outcome}, state = ${JSON.stringify(values.state)},
      sla_state = ${values.sla_state}, journal_seq = ${values.journal_seq}, completed_at = ${values.completed_at}::timestamptz,
      updated_at = clock_timestamp(),
      attend_at = case when ${values.status} = 'running' and kept_inputs > 0 then clock_timestamp() else attend_at end
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export interface NewEntry {
  readonly at: string;
  readonly kind: JournalRow['kind'];
  readonly element: string | null;
  readonly reason: string | null;
  readonly actor_id: string | null;
  readonly event_id: string | null;
  readonly data: object;
  /** The complete input, for replays; only in lines that record inputs. */
  readonly input?: object;
}

/** Appends lines to the journal in order. */
export function insertEntries(
  tenantId: string,
  instanceId: string,
  lastSeq: number,
  entries: readonly NewEntry[],
) {
  const numbered = entries.map((entry, n) => ({ ...entry, seq: lastSeq + 1 + n }));
  return sql`
    insert into process_instance_journal (instance_id, tenant_id, seq, at, kind, element, reason, actor_id, event_id, data, input)
    select ${instanceId}::uuid, ${tenantId}::uuid, e.* from jsonb_to_recordset(${JSON.stringify(numbered)}::jsonb) as e (
      seq integer, at timestamptz, kind text, element text, reason text, actor_id uuid, event_id uuid, data jsonb,
      input jsonb)`;
}

/** Returns no row if the instance has already processed this source. */
export function insertInput(tenantId: string, instanceId: string, sourceRef: string, links = 0) {
  return sql<{ source_ref: string }>`
    insert into process_inputs (instance_id, source_ref, tenant_id, links)
    values (${instanceId}, ${sourceRef}, ${tenantId}, ${links})
    on conflict do nothing
    returning source_ref`;
}

export function findInput(tenantId: string, instanceId: string, sourceRef: string) {
  return sql<{ source_ref: string }>`
    select source_ref from process_inputs
    where instance_id = ${instanceId} and source_ref = ${sourceRef} and tenant_id = ${tenantId}`;
}

/**
 * Stores an input that an instance can't process yet, or records that it was skipped; both once per source. The caller
 * holds the lock of the instance. Returns no row for a duplicate.
 * @param kept null for a skipped input
 */
export function storeOrSkip(
  tenantId: string,
  instanceId: string,
  sourceRef: string,
  kept: object | null,
  links: number,
) {
  return sql<InstanceRow>`
    with noted as (
      insert into process_inputs (instance_id, source_ref, tenant_id, held, links)
      values (${instanceId}, ${sourceRef}, ${tenantId}, ${kept === null ? null : JSON.stringify(kept)}, ${links})
      on conflict do nothing
      returning held
    )
    update process_instances i
    set kept_inputs = kept_inputs + (n.held is not null)::integer, passed_over = passed_over + (n.held is null)::integer,
      attend_at = case when status = 'running' then clock_timestamp() else attend_at end
    from noted n where i.id = ${instanceId} and i.tenant_id = ${tenantId}
    returning i.*`;
}

/** Stores an input whose processing failed and was rolled back. */
export function updateToKept(tenantId: string, instanceId: string, sourceRef: string, kept: object) {
  return sql`
    with kept as (
      update process_inputs set held = ${JSON.stringify(kept)}
      where instance_id = ${instanceId} and source_ref = ${sourceRef} and tenant_id = ${tenantId} and held is null
      returning instance_id
    )
    update process_instances i set kept_inputs = kept_inputs + 1 from kept k where i.id = k.instance_id`;
}

export interface KeptRow {
  source_ref: string;
  held: object;
  links: number;
}

/** The pending inputs of an instance, in order of arrival. */
export function findKept(tenantId: string, instanceId: string, rowsMax: number) {
  return sql<KeptRow>`
    select source_ref, held, links from process_inputs
    where instance_id = ${instanceId} and tenant_id = ${tenantId} and held is not null
    order by number limit ${rowsMax}`;
}

/** Marks an input as no longer pending, because this transaction processes it. */
export function updateToTaken(tenantId: string, instanceId: string, sourceRef: string, links: number) {
  return sql`
    with taken as (
      update process_inputs set held = null, links = ${links}
      where instance_id = ${instanceId} and source_ref = ${sourceRef} and tenant_id = ${tenantId} and held is not null
      returning instance_id
    )
    update process_instances i set kept_inputs = kept_inputs - 1 from taken t where i.id = t.instance_id`;
}

export type CareValues = Pick<InstanceRow, 'journal_seq' | 'passed_over' | 'left_open'>;

/** @param attendAt null: the worker has no work for it; `now`: immediately */
export function updateDueTime(tenantId: string, id: string, values: CareValues, attendAt: string | null) {
  return sql<InstanceRow>`
    update process_instances
    set journal_seq = ${values.journal_seq}, passed_over = ${values.passed_over},
      left_open = ${JSON.stringify(values.left_open)}, attend_at = ${attendAt}::timestamptz
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export type AttendedRow = { id: string; tenant_id: string; attend_at: string };

/** Instances of all tenants that are due for the worker. */
export function findInstancesDue([attendAt, id]: QueuePosition, rowsMax: number) {
  return sql<AttendedRow>`
    select id, tenant_id, attend_at from process_instances
    where attend_at <= now() and (attend_at, id) > (${attendAt}::timestamptz, ${id}::uuid)
    order by attend_at, id limit ${rowsMax}`;
}

/** Replaces the rows of an instance's timers. */
export function replaceTimers(tenantId: string, instanceId: string, timers: readonly object[]) {
  return sql`
    with counting as (
      select * from jsonb_to_recordset(${JSON.stringify(timers)}::jsonb) as t (id uuid, due_at timestamptz)
    ), gone as (
      delete from process_timers
      where instance_id = ${instanceId} and tenant_id = ${tenantId} and id not in (select id from counting)
    )
    insert into process_timers as t (id, instance_id, tenant_id, due_at)
    select id, ${instanceId}::uuid, ${tenantId}::uuid, due_at from counting
    on conflict (id) do update set due_at = excluded.due_at where t.due_at <> excluded.due_at`;
}

/** Replaces the keys by which events find an instance. */
export function replaceWaits(tenantId: string, instanceId: string, keys: readonly string[]) {
  return sql`
    with gone as (
      delete from process_waits
      where instance_id = ${instanceId} and tenant_id = ${tenantId} and wait_key <> all (${keys}::text[])
    )
    insert into process_waits (instance_id, wait_key, tenant_id)
    select ${instanceId}::uuid, key, ${tenantId}::uuid from unnest(${keys}::text[]) as key
    on conflict do nothing`;
}

export interface WaitingRow {
  id: string;
  definition_key: string;
  definition_version: number;
  identity_agent: string;
}

/** The properties of an event that find the instances waiting for it. */
export interface Awaited {
  /** The event's object: `entity:<id>` and similar keys. */
  readonly own: readonly string[];
  /** The event's kind: a step may wait for any event of a kind. */
  readonly heard: string;
  readonly sourceRef: string;
  /**
   * Versions whose authors don't see the event's object, as parallel lists: their instances get the event only if they
   * wait for an object that they created.
   */
  readonly blind: { readonly keys: readonly string[]; readonly versions: readonly number[] };
}

/** Instances that wait for an event and have not processed it yet, ordered by id. */
export function findWaiting(tenantId: string, { own, heard, sourceRef, blind }: Awaited, rowsMax: number) {
  return sql<WaitingRow>`
    select i.id, i.definition_key, i.definition_version, i.identity_agent
    from process_instances i
    where i.id in (
        select w.instance_id from process_waits w
        where w.tenant_id = ${tenantId} and w.wait_key = any (${[...own, heard]}::text[]))
      and i.tenant_id = ${tenantId}
      and ((i.definition_key, i.definition_version) not in (
          select key, version from unnest(${blind.keys}::text[], ${blind.versions}::integer[]) as blind (key, version))
        or exists (
          select from process_waits w
          where w.instance_id = i.id and w.tenant_id = ${tenantId} and w.wait_key = any (${own}::text[])))
      and not exists (select from process_inputs p where p.instance_id = i.id and p.source_ref = ${sourceRef})
    order by i.id limit ${rowsMax}`;
}

/** Those of the given keys that any instance waits for. */
export function findWaitedKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ wait_key: string }>`
    select key as wait_key from unnest(${keys}::text[]) as key
    where exists (select from process_waits w where w.tenant_id = ${tenantId} and w.wait_key = key)`;
}

/**
 * Some instances to migrate that no other process has locked. Each is removed from the list when its migration is
 * attempted.
 */
export function lockFreeOfVersion(tenantId: string, migration: MigrationRow, rowsMax: number) {
  const { definition_key: key, from_version: from, to_version: to } = migration;
  return sql<InstanceRow>`
    select * from process_instances
    where tenant_id = ${tenantId} and definition_key = ${key} and definition_version = ${from}
      and stays_until < ${to}::integer and status in ('running', 'suspended')
    order by stays_until, id limit ${rowsMax}
    for no key update skip locked`;
}

/** Whether a migration has instances left, including locked ones. */
export function hasOfVersion(tenantId: string, migration: MigrationRow) {
  const { definition_key: key, from_version: from, to_version: to } = migration;
  return sql<{ has: boolean }>`
    select exists (
      select from process_instances
      where tenant_id = ${tenantId} and definition_key = ${key} and definition_version = ${from}
        and stays_until < ${to}::integer and status in ('running', 'suspended')
    ) as has`;
}

export function updateVersion(tenantId: string, id: string, version: number, agent: string) {
  return sql<InstanceRow>`
    update process_instances set definition_version = ${version}, identity_agent = ${agent}
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** Records that the instance could not migrate to this version or an earlier one. */
export function updateToStaying(tenantId: string, id: string, version: number) {
  return sql<InstanceRow>`
    update process_instances set stays_until = ${version} where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export type DueTimerRow = { id: string; instance_id: string; tenant_id: string; due_at: string };

export function findDueTimers([dueAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueTimerRow>`
    select id, instance_id, tenant_id, due_at from process_timers
    where due_at <= now() and (due_at, id) > (${dueAt}::timestamptz, ${id}::uuid)
    order by due_at, id limit ${rowsMax}`;
}

export interface OrderRow {
  instance_id: string;
  tenant_id: string;
  act: 'begin' | 'end';
  due_at: string;
}

/** Records what to do with a called instance; a pending start is replaced by an order to end it. */
export function upsertOrder(tenantId: string, instanceId: string, act: OrderRow['act']) {
  return sql`
    insert into process_orders as o (instance_id, tenant_id, act) values (${instanceId}, ${tenantId}, ${act})
    on conflict (instance_id) do update set act = excluded.act where o.act = 'begin'`;
}

export function findDueOrders([dueAt, id]: QueuePosition, rowsMax: number) {
  return sql<OrderRow>`
    select instance_id, tenant_id, act, due_at from process_orders
    where due_at <= now() and (due_at, instance_id) > (${dueAt}::timestamptz, ${id}::uuid)
    order by due_at, instance_id limit ${rowsMax}`;
}

/** Returns no row if another process has already carried out the order. */
export function deleteOrder(tenantId: string, instanceId: string) {
  return sql<Pick<OrderRow, 'act'>>`
    delete from process_orders where instance_id = ${instanceId} and tenant_id = ${tenantId} returning act`;
}

/** Whether a tree of calls has at least this many open instances. */
export function hasOpenOfRoot(tenantId: string, rootId: string, rows: number) {
  return sql<{ has: boolean }>`
    select count(*) >= ${rows}::integer as has from (
      select from process_instances
      where root_id = ${rootId} and tenant_id = ${tenantId} and status in ('running', 'suspended') limit ${rows}
    ) as open`;
}

export type RecallRow = RowOf<Tables['process_recalls'], { question: RecallQuestion }>;

export function insertRecall(recall: Omit<RecallRow, 'attempts' | 'due_at'>) {
  return sql`
    insert into process_recalls (id, instance_id, tenant_id, element, question, namespaces)
    values (${recall.id}, ${recall.instance_id}, ${recall.tenant_id}, ${recall.element},
      ${JSON.stringify(recall.question)}, ${recall.namespaces})
    on conflict do nothing`;
}

/** Leases memory queries that aren't leased, longest due first. */
export function leaseDueRecalls(rowsMax: number, leaseSeconds: number) {
  return sql<RecallRow>`
    update process_recalls r
    set due_at = clock_timestamp() + make_interval(secs => ${leaseSeconds}), attempts = r.attempts + 1
    from (
      select id from process_recalls where due_at <= clock_timestamp()
      order by due_at, id limit ${rowsMax} for update skip locked
    ) due
    where r.id = due.id
    returning r.*`;
}

/** Schedules another attempt. */
export function postponeRecall({ tenant_id, id }: RecallRow, waitSeconds: number) {
  return sql`
    update process_recalls set due_at = clock_timestamp() + make_interval(secs => ${waitSeconds})
    where id = ${id} and tenant_id = ${tenant_id}`;
}

/** Changes no row if the query's result has been processed, or no step waits for it any more. */
export function deleteRecall(tenantId: string, id: string) {
  return sql`delete from process_recalls where id = ${id} and tenant_id = ${tenantId}`;
}

/** The first artifacts of these types that the tasks of an instance produced. */
export function findArtifactsOfInstance(
  tenantId: string,
  instanceId: string,
  types: readonly string[],
  rowsMax: number,
) {
  return sql<{ id: string; type: string; name: string }>`
    select a.id, a.type, a.name
    from process_instance_journal j join artifacts a on a.task_id = (j.data ->> 'taskId')::uuid
    where j.instance_id = ${instanceId} and j.tenant_id = ${tenantId} and j.kind = 'intent' and j.reason = 'open_task'
      and a.tenant_id = ${tenantId} and a.type = any (${types}::text[])
    order by a.created_at, a.id limit ${rowsMax}`;
}

const build = queryBuilder<{ process_instances: InstanceRow; process_instance_journal: JournalRow }>();

const newestFirst: ListOrder<InstanceRow> = {
  cursor: 'process-instances',
  columns: { started_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type InstanceFilter = {
  readonly [Column in 'definition_key' | 'instance_key' | 'status' | 'workspace_id' | 'sla_state']:
    | string
    | undefined;
};

export function listOfInstances(tenantId: string, filter: InstanceFilter): SeenList<InstanceRow> {
  const foundIn = (source: 'process_instances') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  return seenByPlace(tenantId, 'process_instances', foundIn, newestFirst);
}

const inOrder: ListOrder<JournalRow> = {
  cursor: 'process-journal',
  columns: { seq: 'integer' },
  direction: 'asc',
};

export function findEntries(tenantId: string, instanceId: string, kind: string | undefined, page: Page) {
  const query = build
    .selectFrom('process_instance_journal')
    .select([
      'instance_id',
      'tenant_id',
      'seq',
      'at',
      'kind',
      'element',
      'reason',
      'actor_id',
      'event_id',
      'data',
    ])
    .where('instance_id', '=', instanceId)
    .where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, { kind }), inOrder, page);
}
