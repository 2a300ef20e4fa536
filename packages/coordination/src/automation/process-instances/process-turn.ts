import type { Json, JsonObject } from '@baton/kernel/wire';
import { findOutputOfTask } from '../../execution/runs/runs.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { isBehind, positionOf } from '../../ledger/journal/reading.ts';
import { getInvocationEnd } from '../../results/invocations/requesting.ts';
import { findTaskUnseen } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import {
  type EventPage,
  findPlace,
  isSamePlace,
  lockPlace,
  moveTo,
  readEvents,
  type TurnRow,
} from '../journal-turns/turns.ts';
import { isOfTrigger, startCorrelation } from '../process-engine/engine.ts';
import type { Input } from '../process-engine/inputs.ts';
import { ProcessFault } from '../process-engine/machine.ts';
import type { EventRoot } from '../process-engine/state.ts';
import type { Trigger } from '../process-language/forms.ts';
import {
  findTriggered,
  processConsumer,
  type TriggerRow,
  triggeringKeys,
  triggerKeyOf,
} from '../process-triggers/triggers.ts';
import { takeFromSource } from './advancing.ts';
import { findChildEnd, isEnd } from './child-instances.ts';
import { type DefinitionInUse, toolsFor, useDefinition } from './definitions-in-use.ts';
import {
  findInput,
  findInstance,
  findOpenOfKey,
  findWaitedKeys,
  findWaiting,
  lockInstance,
  type WaitingRow,
} from './instances.sql.ts';
import { Identities } from './people/identity.ts';
import { startByEvent, startedInstanceId } from './starting.ts';

/** A turn ends early after so many inputs, or so long: readers of the journal wait for its transaction. */
const inputsMax = 100;
const turnMsMax = 500;
const waitingMax = 100;
const keyCharactersMax = 500;

/** An instance of a definition that an event is for, or that it starts. */
interface Concern {
  readonly definitionKey: string;
  readonly version: number;
  readonly agent: string;
  /** Null for one that is to be started. */
  readonly instanceId: string | null;
  readonly instanceKey: string;
  readonly correlations: number[];
}

/**
 * One turn of a tenant: its processes take the next events, and its cursor moves behind them, in one transaction
 * (organisation, section 15.4). Who acts is locked first, then the turn, then each instance.
 * @returns whether there may be more at once; false also where another process has the tenant's turn
 */
export async function takeProcessTurn(context: Context): Promise<boolean> {
  const before = await findPlace(context, processConsumer);
  if (before === undefined) return false;
  const page = await readEvents(context, before, context.settings.CP_PROCESSES_BATCH_SIZE);
  const agents = new Set<string>();
  for (const event of await wantedOf(context, page.rows))
    for (const { agent } of await concernsOf(context, event)) agents.add(agent);
  const identities = await Identities.lock(context, agents);
  const turn = await lockPlace(context, processConsumer, before);
  if (turn === undefined) return false;
  return new ProcessTurn(context, turn, identities).run(page);
}

/** The events that anything waits for: most are for nobody, and cost two statements together. */
async function wantedOf(context: Context, rows: readonly EventRow[]): Promise<EventRow[]> {
  const { db, tenantId } = context;
  const keys = [...new Set(rows.flatMap(keysOf))];
  const waited = (await db.rows(findWaitedKeys(tenantId, keys))).map((row) => row.wait_key);
  const wanted = new Set([...waited, ...(await triggeringKeys(context, keys))]);
  return rows.filter((row) => keysOf(row).some((key) => wanted.has(key)));
}

function keysOf(event: EventRow): string[] {
  const keys = [`entity:${event.entity_id}`, triggerKeyOf(event)];
  if (event.type === 'calendar.published') keys.push(`calendar:${event.payload['key']}`);
  if (isEnd(event)) keys.push(`ended:${event.entity_id}`);
  return keys;
}

class ProcessTurn {
  readonly #context: Context;
  readonly #turn: TurnRow;
  readonly #identities: Identities;
  readonly #endsAtMs = performance.now() + turnMsMax;
  #inputs = 0;

  constructor(context: Context, turn: TurnRow, identities: Identities) {
    this.#context = context;
    this.#turn = turn;
    this.#identities = identities;
  }

  async run({ rows, end, hasMore }: EventPage): Promise<boolean> {
    let reached = positionOf(this.#turn);
    for (const row of rows) {
      // Also events that are for nobody take their time.
      const isLate = performance.now() > this.#endsAtMs && isBehind(reached, this.#turn);
      if (!isLate && (await this.#deliver(row))) {
        reached = positionOf(row);
        continue;
      }
      if (isBehind(reached, this.#turn)) await moveTo(this.#context, processConsumer, reached);
      return true;
    }
    if (!isSamePlace(end, this.#turn)) await moveTo(this.#context, processConsumer, end);
    return hasMore;
  }

  /** @returns false when the turn is over before all that the event is for have taken it */
  async #deliver(event: EventRow): Promise<boolean> {
    for (;;) {
      const concerns = await concernsOf(this.#context, event);
      if (concerns.length === 0) return true;
      for (const concern of concerns) {
        if (this.#isOver() || !this.#identities.knows(concern.agent)) return false;
        this.#inputs += 1;
        await this.#take(event, concern);
      }
      if (concerns.length < waitingMax) return true;
    }
  }

  #isOver(): boolean {
    return this.#inputs > 0 && (this.#inputs >= inputsMax || performance.now() > this.#endsAtMs);
  }

  async #take(event: EventRow, concern: Concern): Promise<void> {
    const context = this.#context;
    const { db, tenantId } = context;
    const { definitionKey, version, instanceId, instanceKey, correlations } = concern;
    if (instanceId === null) {
      const { workspace_id: place } = (await useDefinition(context, definitionKey, version)).row;
      const agent = await this.#identities.of(concern.agent, place);
      await startByEvent(context, { definitionKey, version, instanceKey, agent, event: rootOf(event) });
      return;
    }
    const row = await db.row(lockInstance(tenantId, instanceId));
    if (row === undefined || (row.status !== 'running' && row.status !== 'suspended')) return;
    const use = await useDefinition(context, definitionKey, version);
    const agent = await this.#identities.of(concern.agent, row.workspace_id);
    const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
    const input = await inputOf(context, event, correlations);
    await takeFromSource(context, running, input, sourceOf(event));
  }
}

const sourceOf = ({ id }: EventRow) => `event:${id}`;

/** The instances that an event is for, and have not taken it, and those that it starts, each once. */
async function concernsOf(context: Context, event: EventRow): Promise<Concern[]> {
  const { db, tenantId } = context;
  const waiting = await db.rows(findWaiting(tenantId, keysOf(event), sourceOf(event), waitingMax));
  const concerns = new Map(waiting.map((row) => [row.id, concernOf(row)]));
  for (const trigger of await findTriggered(context, event))
    await addTriggered(context, event, trigger, concerns);
  return [...concerns.values()];
}

function concernOf(row: WaitingRow): Concern {
  return {
    definitionKey: row.definition_key,
    version: row.definition_version,
    agent: row.identity_agent,
    instanceId: row.id,
    instanceKey: '',
    correlations: [],
  };
}

async function addTriggered(
  context: Context,
  event: EventRow,
  { definition_key: definitionKey, definition_version: version, kind, number }: TriggerRow,
  concerns: Map<string, Concern>,
): Promise<void> {
  const use = await useDefinition(context, definitionKey, version);
  const { start, correlate } = use.definition.spec;
  const trigger = kind === 'start' ? start : correlate[number];
  const root = rootOf(event);
  if (trigger === undefined || !isOfTrigger(trigger.on, root)) return;
  const instanceKey = await keyOf(context, use, trigger, root, kind === 'start');
  if (instanceKey === undefined) return;
  const open = await context.db.row(findOpenOfKey(context.tenantId, definitionKey, instanceKey));
  const agent = use.row.identity_agent;
  if (open === undefined) {
    if (kind !== 'start') return;
    // It has started its instance before, which has ended since.
    const startedId = startedInstanceId(definitionKey, root);
    if ((await context.db.row(findInstance(context.tenantId, startedId))) !== undefined) return;
    concerns.set(`start/${definitionKey}`, {
      definitionKey,
      version,
      agent,
      instanceId: null,
      instanceKey,
      correlations: [],
    });
    return;
  }
  if (kind === 'correlate' && open.definition_version !== version) return;
  const taken = await context.db.row(findInput(context.tenantId, open.id, sourceOf(event)));
  if (taken !== undefined) return;
  const known = concerns.get(open.id) ?? {
    ...concernOf({ definition_key: definitionKey, ...open }),
    instanceKey,
  };
  known.correlations.push(kind === 'start' ? startCorrelation : number);
  concerns.set(open.id, known);
}

/** The key that a trigger gives; undefined where its condition does not hold, or either can't be evaluated. */
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
    // The condition of a correlation reads what the instance knows, too: it is judged there.
    if (isStart && on.where !== undefined && evaluate(on.where, roots) !== true) return undefined;
    const value = evaluate(key, roots);
    const text = typeof value === 'number' ? String(value) : value;
    return typeof text === 'string' && text !== '' && text.length <= keyCharactersMax ? text : undefined;
  } catch (error) {
    if (!(error instanceof ProcessFault)) throw error;
    const { tenantId, log } = context;
    const definition = use.row.key;
    log.warn(
      { tenantId, definition, eventId: event.id, code: error.code },
      'the key of a process has no value',
    );
    return undefined;
  }
}

function rootOf(row: EventRow): EventRoot {
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

/** The event with what there is to know of the object that it is about. */
async function inputOf(context: Context, row: EventRow, correlations: number[]): Promise<Input> {
  const event = rootOf(row);
  const head = { kind: 'event', at: event.time, event, correlations } as const;
  if (row.entity_type === 'task') {
    const task = await findTaskUnseen(context, { id: row.entity_id, number: null });
    if (task === undefined) return head;
    const { id, publicId, typeKey, typeVersion, title, status, systemStatusCategory } = task;
    const { priority, workspaceId, assigneeId, customFields } = task;
    const shown = { id, publicId, typeKey, typeVersion, title, status, systemStatusCategory };
    const output =
      systemStatusCategory === 'terminal_success' ? await findOutputOfTask(context, task.id) : undefined;
    return {
      ...head,
      task: { ...shown, priority, workspaceId, assigneeId, customFields },
      ...(output !== undefined && { output }),
    };
  }
  if (isEnd(row)) return { ...head, child: await findChildEnd(context, row) };
  if (row.entity_type !== 'skill_invocation') return head;
  const end = await getInvocationEnd(context, row.entity_id);
  if (end === undefined) return head;
  const { id, skill, status, output, error } = end;
  return { ...head, call: { id, skill, status, output, error } };
}
