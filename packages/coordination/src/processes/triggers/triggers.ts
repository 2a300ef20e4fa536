import { handlersOf } from '@baton/process-engine/engine/definition-lists';
import { waitKeyOf } from '@baton/process-engine/engine/waits';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import type { EventRow } from '../../ledger/journal/event.ts';
import { createCursor } from '../../rules/journal-turns/turns.ts';
import type { Context } from '../context.ts';
import {
  countOpenInstances,
  deleteStarts,
  deleteTriggerPlace,
  findStart,
  findTriggeringKeys,
  findTriggerPlace,
  findTriggers,
  insertTriggers,
  type TriggerPlace,
  type TriggerRow,
  upsertTriggerPlace,
} from './triggers.sql.ts';

/** The events that start instances or find them by key (docs/reference/processes.md#triggers). */

export type { TriggerPlace, TriggerRow };

/** The name of the cursor shared by the processes of a tenant. */
export const processConsumer = 'processes';
/**
 * How many triggers are read at once; a version has at most 41: one that starts instances, 20 that correlate and 20
 * that handle events.
 */
const triggersMax = 200;
const firstPlace: TriggerPlace = { definition_key: '', definition_version: 0 };

/**
 * Stores the triggers of a version that is being published: from then on it starts instances, and earlier versions no
 * longer do. Call it in the transaction that publishes.
 * @param from versions whose instances migrate to it: for them it also receives earlier events
 */
export async function storeTriggers(
  context: Context,
  { key, version, spec }: { key: string; version: number; spec: ProcessSpec },
  from: readonly number[],
): Promise<void> {
  const { db, tenantId } = context;
  await createCursor(context, processConsumer);
  await db.run(deleteStarts(tenantId, key));
  const triggers = [
    { kind: 'start', number: 0, wait_key: waitKeyOf(spec.start.on) },
    // Handlers without a key are for instances that wait for their own events.
    ...handlersOf(spec).flatMap(({ on, key: instanceKey }, number) =>
      instanceKey === undefined ? [] : [{ kind: 'correlate', number, wait_key: waitKeyOf(on) }],
    ),
  ];
  await db.run(insertTriggers(tenantId, key, version, triggers, from));
}

/** A retired definition starts no instances; its existing instances continue. */
export async function removeTriggers({ db, tenantId }: Context, key: string): Promise<void> {
  await db.run(deleteStarts(tenantId, key));
}

/** The key that finds triggers for an event, in addition to the keys of the event's object. */
export function triggerKeyOf({ type, payload }: Pick<EventRow, 'type' | 'payload'>): string {
  return type === 'observation.recorded' ? `observation:${payload['kind']}` : `event:${type}`;
}

/** The triggers of one version that an event may match, including the one that starts an instance. */
export interface TriggerGroup extends TriggerPlace {
  readonly triggers: readonly TriggerRow[];
}

/**
 * The versions whose triggers an event may match, page by page, in a fixed order.
 * @param after the version after which to continue; undefined to start from the first
 */
export async function* findTriggered(
  { db, tenantId }: Context,
  event: EventRow,
  after: TriggerPlace | undefined,
): AsyncGenerator<TriggerGroup> {
  const key = triggerKeyOf(event);
  let place = after ?? firstPlace;
  for (;;) {
    const rows = await db.rows(findTriggers(tenantId, key, event.position, place, triggersMax));
    const groups = groupsOf(rows);
    const isLastPage = rows.length < triggersMax;
    // The triggers of the last version on a full page may continue on the next page.
    for (const group of isLastPage ? groups : groups.slice(0, -1)) {
      place = group;
      const hasStart = group.triggers.some(({ kind }) => kind === 'start');
      const start = hasStart
        ? undefined
        : await db.row(findStart(tenantId, group.definition_key, key, event.position));
      yield start === undefined ? group : { ...group, triggers: [...group.triggers, start] };
    }
    if (isLastPage) return;
  }
}

function groupsOf(rows: readonly TriggerRow[]): TriggerGroup[] {
  const groups = new Map<string, TriggerRow[]>();
  for (const row of rows) {
    const name = `${row.definition_version} ${row.definition_key}`;
    const group = groups.get(name) ?? [];
    groups.set(name, group);
    group.push(row);
  }
  return [...groups.values()].map((triggers) => ({ ...(triggers[0] as TriggerRow), triggers }));
}

/** The last version that the tenant's previous turn evaluated, if it stopped in the middle of this event. */
export function findTriggeredPlace(
  { db, tenantId }: Context,
  { id }: EventRow,
): Promise<TriggerPlace | undefined> {
  return db.row(findTriggerPlace(tenantId, id));
}

/** Makes the next turn of the tenant continue after this version; undefined if all versions have been evaluated. */
export function storeTriggeredPlace(
  { db, tenantId }: Context,
  { id }: EventRow,
  place: TriggerPlace | undefined,
): Promise<unknown> {
  return db.run(place === undefined ? deleteTriggerPlace(tenantId) : upsertTriggerPlace(tenantId, id, place));
}

/** Returns those of the given event keys that any of the tenant's definitions waits for. */
export async function listTriggeringKeys(
  { db, tenantId }: Context,
  keys: readonly string[],
): Promise<string[]> {
  return (await db.rows(findTriggeringKeys(tenantId, keys))).map((row) => row.wait_key);
}

/** The number of open instances of each version of a definition. */
export async function openInstancesOf(
  { db, tenantId }: Context,
  key: string,
): Promise<{ version: number; openInstances: number }[]> {
  const rows = await db.rows(countOpenInstances(tenantId, key));
  return rows.map(({ version, open_instances: openInstances }) => ({ version, openInstances }));
}
