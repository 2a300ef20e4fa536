import type { EventRow } from '../../ledger/journal/event.ts';
import type { Context } from '../context.ts';
import { holdCursor } from '../journal-turns/turns.ts';
import type { ProcessSpec } from '../process-language/definition.ts';
import type { Trigger } from '../process-language/forms.ts';
import {
  countOpenInstances,
  deleteStarts,
  findTriggeringKeys,
  findTriggers,
  insertTriggers,
  type TriggerRow,
} from './triggers.sql.ts';

/** Which events start instances, and which find one by its key (organisation, section 15.4). */

export type { TriggerRow };

/** The name of the cursor that the processes of a tenant share. */
export const processConsumer = 'processes';
/** Definitions of one tenant that one event may concern. */
const triggersMax = 1000;

const keyOfTrigger = ({ event, observation }: Trigger) =>
  event === undefined ? `observation:${observation}` : `event:${event}`;

/**
 * Notes what a version that is published waits for: it, and no earlier one, starts instances from now on. Call it in the
 * transaction that publishes.
 */
export async function keepTriggers(
  context: Context,
  { key, version, spec }: { key: string; version: number; spec: ProcessSpec },
): Promise<void> {
  const { db, tenantId } = context;
  await holdCursor(context, processConsumer);
  await db.run(deleteStarts(tenantId, key));
  const triggers = [
    { kind: 'start', number: 0, wait_key: keyOfTrigger(spec.start.on) },
    ...spec.correlate.map(({ on }, number) => ({ kind: 'correlate', number, wait_key: keyOfTrigger(on) })),
  ];
  await db.run(insertTriggers(tenantId, key, version, triggers));
}

/** A retired definition starts nothing any more; its instances go on. */
export async function dropTriggers({ db, tenantId }: Context, key: string): Promise<void> {
  await db.run(deleteStarts(tenantId, key));
}

/** What an event is looked up by, besides the object that it is about. */
export function triggerKeyOf({ type, payload }: Pick<EventRow, 'type' | 'payload'>): string {
  return type === 'observation.recorded' ? `observation:${payload['kind']}` : `event:${type}`;
}

export function findTriggered({ db, tenantId }: Context, event: EventRow): Promise<TriggerRow[]> {
  return db.rows(findTriggers(tenantId, triggerKeyOf(event), event.position, triggersMax));
}

/** Those of the keys of events that any definition of the tenant waits for. */
export async function triggeringKeys({ db, tenantId }: Context, keys: readonly string[]): Promise<string[]> {
  return (await db.rows(findTriggeringKeys(tenantId, keys))).map((row) => row.wait_key);
}

/** How many instances of each version of a definition have not ended. */
export async function openInstancesOf(
  { db, tenantId }: Context,
  key: string,
): Promise<{ version: number; openInstances: number }[]> {
  const rows = await db.rows(countOpenInstances(tenantId, key));
  return rows.map(({ version, open_instances: openInstances }) => ({ version, openInstances }));
}
