import { isOfTrigger, startCorrelation } from '@baton/process-engine/engine/handlers';
import { ProcessFault } from '@baton/process-engine/engine/machine';
import { correlateAgain } from '@baton/process-engine/engine/migration/recorrelate';
import type { EventRoot } from '@baton/process-engine/engine/state';
import type { Trigger } from '@baton/process-engine/language/forms';
import type { Json, JsonObject } from '@baton/values/wire';
import type { EventRow } from '../../ledger/journal/event.ts';
import type { Context } from '../context.ts';
import type { SightOfAuthors } from '../definitions/authors.ts';
import {
  findTriggered,
  findTriggeredPlace,
  type TriggerGroup,
  type TriggerPlace,
  type TriggerRow,
} from '../triggers/triggers.ts';
import { type DefinitionInUse, toolsFor, useDefinition } from './definitions-in-use.ts';
import { findInput, findInstance, findOpenOfKey, type WaitingRow } from './instances.sql.ts';
import { startedInstanceId } from './start-instance.ts';

/** Finds the instances that match an event by the triggers of definitions (docs/reference/processes.md#triggers). */

const keyCharactersMax = 500;

/** An instance that an event concerns or starts. */
export interface Concern {
  readonly definitionKey: string;
  readonly version: number;
  readonly agent: string;
  /** Null for an instance to be started. */
  readonly instanceId: string | null;
  readonly instanceKey: string;
  readonly correlations: number[];
}

/** A trigger of a version that matches an event, and the key of the instance that it finds or starts. */
interface Fitting {
  readonly trigger: TriggerRow;
  readonly instanceKey: string;
}

/** The matching triggers of one version for an event: the result depends on nothing else. */
export interface JudgedGroup extends TriggerPlace {
  readonly fitting: readonly Fitting[];
}

/** How far the definitions that an event may concern have been evaluated. */
export interface JudgedEvent {
  /** The last version that an earlier turn evaluated. */
  readonly after: TriggerPlace | undefined;
  readonly groups: readonly JudgedGroup[];
  /** Whether these are the last versions. */
  readonly isWhole: boolean;
}

/**
 * Evaluates the triggers that an event may concern, after those that an earlier turn evaluated. Events that the author
 * of a version doesn't see match none of its triggers.
 * @param endsAtMs the end of the evaluation, as measured by `performance.now()`; at least one version is evaluated
 */
export async function evaluateTriggers(
  context: Context,
  event: EventRow,
  authors: SightOfAuthors,
  endsAtMs: number,
): Promise<JudgedEvent> {
  const after = await findTriggeredPlace(context, event);
  const { keys, versions } = await authors.findBlindViewersOf(event.workspace_id);
  const blind = new Set(keys.map((key, n) => `${key}@${versions[n]}`));
  const groups: JudgedGroup[] = [];
  for await (const group of findTriggered(context, event, after)) {
    if (groups.length > 0 && performance.now() > endsAtMs) return { after, groups, isWhole: false };
    const seen = group.triggers.filter(
      (one) => !blind.has(`${one.definition_key}@${one.definition_version}`),
    );
    groups.push({ ...group, fitting: await fittingOf(context, event, seen) });
  }
  return { after, groups, isWhole: true };
}

async function fittingOf(
  context: Context,
  row: EventRow,
  triggers: TriggerGroup['triggers'],
): Promise<Fitting[]> {
  const event = rootOf(row);
  const fitting: Fitting[] = [];
  for (const trigger of triggers) {
    const use = await useDefinition(context, trigger.definition_key, trigger.definition_version);
    const { spec, handlers } = use.definition;
    const { on, key } = (trigger.kind === 'start' ? spec.start : handlers[trigger.number]) ?? {};
    if (on === undefined || key === undefined || !isOfTrigger(on, event)) continue;
    const instanceKey = await keyOf(context, use, { on, key }, event, trigger.kind === 'start');
    if (instanceKey !== undefined) fitting.push({ trigger, instanceKey });
  }
  return fitting;
}

/**
 * The instances that matching triggers find or start, without duplicates and without those that have processed the
 * event.
 */
export async function triggeredBy(
  context: Context,
  event: EventRow,
  groups: readonly JudgedGroup[],
): Promise<Concern[]> {
  const concerns = new Map<string, Concern>();
  for (const { fitting } of groups)
    for (const one of fitting) await addTriggered(context, event, one, concerns);
  return [...concerns.values()];
}

async function addTriggered(
  context: Context,
  event: EventRow,
  { trigger, instanceKey }: Fitting,
  concerns: Map<string, Concern>,
): Promise<void> {
  const { db, tenantId } = context;
  const { definition_key: definitionKey, definition_version: version, kind, number } = trigger;
  const open = await db.row(findOpenOfKey(tenantId, definitionKey, instanceKey));
  if (open === undefined) {
    if (kind !== 'start') return;
    // The event has already started its instance, which has since ended.
    const startedId = startedInstanceId(definitionKey, rootOf(event));
    if ((await db.row(findInstance(tenantId, startedId))) !== undefined) return;
    const { identity_agent: agent } = (await useDefinition(context, definitionKey, version)).row;
    const head = { definitionKey, version, agent, instanceId: null, instanceKey, correlations: [] };
    concerns.set(`start/${definitionKey}`, head);
    return;
  }
  const taken = await db.row(findInput(tenantId, open.id, sourceOf(event)));
  if (taken !== undefined) return;
  const known = concerns.get(open.id) ?? concernOf({ definition_key: definitionKey, ...open }, instanceKey);
  const found =
    kind === 'start'
      ? [startCorrelation]
      : await correlationsOf(context, known, version, number, rootOf(event));
  known.correlations.push(...found.filter((n) => !known.correlations.includes(n)));
  if (known.correlations.length > 0) concerns.set(open.id, known);
}

/**
 * The correlations of an instance that was found by a trigger of one version of its definition. If the instance has
 * another version, it may have migrated since: the correlations of its own version are evaluated, and there are none if
 * the event doesn't concern it.
 */
async function correlationsOf(
  context: Context,
  { definitionKey, version, instanceKey }: Concern,
  triggerVersion: number,
  number: number,
  event: EventRoot,
): Promise<readonly number[]> {
  if (version === triggerVersion) return [number];
  const use = await useDefinition(context, definitionKey, version);
  const judging = { definition: use.definition, tools: await toolsFor(context, use) };
  const input = { kind: 'event', at: event.time, event } as const;
  const anew = correlateAgain(judging, instanceKey, input);
  return (anew.kind === 'event' && anew.correlations) || [];
}

/** An open instance that an event concerns. */
export function concernOf(row: WaitingRow, instanceKey = ''): Concern {
  return {
    definitionKey: row.definition_key,
    version: row.definition_version,
    agent: row.identity_agent,
    instanceId: row.id,
    instanceKey,
    correlations: [],
  };
}

/**
 * The key that a trigger yields; undefined if its condition doesn't hold, or if the condition or the key can't be
 * evaluated.
 */
async function keyOf(
  context: Context,
  use: DefinitionInUse,
  { on, key }: { on: Trigger; key: string },
  event: EventRoot,
  isStart: boolean,
): Promise<string | undefined> {
  const { evaluate } = await toolsFor(context, use);
  const roots = { event: event as unknown as Json };
  try {
    // The condition of a correlation also reads the instance's data, so it is evaluated with the instance.
    if (isStart && on.where !== undefined && evaluate(on.where, roots) !== true) return undefined;
    const value = evaluate(key, roots);
    const text = typeof value === 'number' ? String(value) : value;
    return typeof text === 'string' && text !== '' && text.length <= keyCharactersMax ? text : undefined;
  } catch (error) {
    if (!(error instanceof ProcessFault)) throw error;
    const { tenantId, log } = context;
    const definition = use.row.key;
    log.warn({ tenantId, definition, eventId: event.id, code: error.code }, 'process key has no value');
    return undefined;
  }
}

/** The source reference that ensures that an instance processes an event only once. */
export const sourceOf = ({ id }: EventRow) => `event:${id}`;

/** An event in the format that definitions read. */
export function rootOf(row: EventRow): EventRoot {
  return {
    id: row.id,
    type: row.type,
    time: row.occurred_at,
    entityType: row.entity_type,
    entityId: row.entity_id,
    actorId: row.actor_id,
    correlationId: row.correlation_id,
    payload: row.payload as JsonObject,
  };
}
