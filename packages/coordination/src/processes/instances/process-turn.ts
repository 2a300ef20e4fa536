import type { Input } from '@baton/process-engine/engine/inputs';
import { correlateAgain } from '@baton/process-engine/engine/migration/recorrelate';
import { ownKey } from '@baton/process-engine/engine/waits';
import { findOutputOfTask } from '../../execution/runs/runs.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { isBehind, positionOf } from '../../ledger/journal/read-pages.ts';
import { getInvocationEnd } from '../../results/invocations/request-invocation.ts';
import {
  type EventPage,
  findPlace,
  isSamePlace,
  lockPlace,
  moveTo,
  readEvents,
  type TurnRow,
} from '../../rules/journal-turns/turns.ts';
import { findTaskUnseen } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { SightOfAuthors } from '../definitions/authors.ts';
import {
  listTriggeringKeys,
  processConsumer,
  storeTriggeredPlace,
  triggerKeyOf,
} from '../triggers/triggers.ts';
import { findChildEnd, isEnd } from './child-instances.ts';
import { toolsFor, useDefinition } from './definitions-in-use.ts';
import { findWaitedKeys, findWaiting, lockInstance } from './instances.sql.ts';
import { linksTo, sourceOfEvent } from './loops/links.ts';
import { agentOf, Identities } from './people/identity.ts';
import { startByEvent } from './start-instance.ts';
import { takeFromSource } from './take-input.ts';
import {
  type Concern,
  concernOf,
  evaluateTriggers,
  type JudgedEvent,
  rootOf,
  sourceOf,
  triggeredBy,
} from './triggered.ts';

/** Maximum number of inputs and maximum duration of a turn, because readers of the journal wait for its transaction. */
const inputsMax = 100;
const turnMsMax = 500;
/** How long the triggers of definitions are evaluated before the transaction. */
const judgingMsMax = 200;
const waitingMax = 100;

/**
 * One turn of a tenant: its processes receive the next events, and its cursor moves past them, in one transaction
 * (docs/reference/processes.md#triggers). Triggers are evaluated first, for a bounded time; then the acting agents, the
 * turn and each instance are locked, in this order.
 * @returns whether more events may be due; also false if another process has locked the tenant's turn
 */
export async function takeProcessTurn(context: Context): Promise<boolean> {
  const before = await findPlace(context, processConsumer);
  if (before === undefined) return false;
  const page = await readEvents(context, before, context.settings.CP_PROCESSES_BATCH_SIZE);
  const wanted = await wantedOf(context, page.rows);
  const agents = new Set<string>();
  const authors = new SightOfAuthors(context);
  const judged = await judgeEvents(context, wanted, authors, agents);
  const identities = await Identities.lock(context, agents);
  const turn = await lockPlace(context, processConsumer, before);
  if (turn === undefined) return false;
  return new ProcessTurn(context, { turn, identities, authors, wanted: new Set(wanted), judged }).run(page);
}

/**
 * Evaluates triggers for the next events until `judgingMsMax` have passed, and collects the agents that will act.
 * @returns a result for each event that was reached, in the same order
 */
async function judgeEvents(
  context: Context,
  events: readonly EventRow[],
  authors: SightOfAuthors,
  agents: Set<string>,
): Promise<Map<EventRow, JudgedEvent>> {
  const endsAtMs = performance.now() + judgingMsMax;
  const judged = new Map<EventRow, JudgedEvent>();
  for (const event of events) {
    for (const { agent } of await waitingFor(context, event, authors)) agents.add(agent);
    const one = await evaluateTriggers(context, event, authors, endsAtMs);
    for (const { agent } of await triggeredBy(context, event, one.groups)) agents.add(agent);
    judged.set(event, one);
    if (performance.now() > endsAtMs) break;
  }
  return judged;
}

/** The instances that wait for an event without using a trigger, and have not processed it. */
async function waitingFor(
  { db, tenantId }: Context,
  event: EventRow,
  authors: SightOfAuthors,
): Promise<Concern[]> {
  const [own, heard] = [ownKeysOf(event), triggerKeyOf(event)];
  const blind = await authors.findBlindViewersOf(event.workspace_id);
  const awaited = { own, heard, blind, sourceRef: sourceOf(event) };
  return (await db.rows(findWaiting(tenantId, awaited, waitingMax))).map((row) => concernOf(row));
}

/**
 * The events that a definition or an instance waits for. Most events match nothing, so they are filtered first,
 * with two statements for a whole batch.
 */
async function wantedOf(context: Context, rows: readonly EventRow[]): Promise<EventRow[]> {
  const { db, tenantId } = context;
  const keys = [...new Set(rows.flatMap(keysOf))];
  const waited = (await db.rows(findWaitedKeys(tenantId, keys))).map((row) => row.wait_key);
  const wanted = new Set([...waited, ...(await listTriggeringKeys(context, keys))]);
  return rows.filter((row) => keysOf(row).some((key) => wanted.has(key)));
}

function keysOf(event: EventRow): string[] {
  return [...ownKeysOf(event), triggerKeyOf(event)];
}

/** The keys that match the event's object, and the instance that caused the event. */
function ownKeysOf(event: EventRow): string[] {
  const keys = [`entity:${event.entity_id}`];
  const source = sourceOfEvent(event.correlation_id);
  if (source !== undefined) keys.push(ownKey(source, triggerKeyOf(event)));
  if (event.type === 'calendar.published') keys.push(`calendar:${event.payload['key']}`);
  if (isEnd(event)) keys.push(`ended:${event.entity_id}`);
  return keys;
}

/** The dependencies of a turn. */
interface Turning {
  readonly turn: TurnRow;
  readonly identities: Identities;
  readonly authors: SightOfAuthors;
  readonly wanted: ReadonlySet<EventRow>;
  readonly judged: ReadonlyMap<EventRow, JudgedEvent>;
}

class ProcessTurn {
  readonly #context: Context;
  readonly #turn: TurnRow;
  readonly #identities: Identities;
  readonly #authors: SightOfAuthors;
  readonly #endsAtMs = performance.now() + turnMsMax;
  readonly #wanted: ReadonlySet<EventRow>;
  readonly #judged: ReadonlyMap<EventRow, JudgedEvent>;
  #inputs = 0;

  constructor(context: Context, { turn, identities, authors, wanted, judged }: Turning) {
    this.#context = context;
    this.#turn = turn;
    this.#identities = identities;
    this.#authors = authors;
    this.#wanted = wanted;
    this.#judged = judged;
  }

  async run({ rows, end, hasMore }: EventPage): Promise<boolean> {
    let reached = positionOf(this.#turn);
    for (const row of rows) {
      // Even events that match nothing take time.
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

  /** @returns false if the turn ends before all matching instances have processed the event */
  async #deliver(event: EventRow): Promise<boolean> {
    if (!this.#wanted.has(event)) return true;
    const judged = this.#judged.get(event);
    if (judged === undefined) return false;
    let place = judged.after;
    for (const group of judged.groups) {
      if (!(await this.#takeAll(event, await triggeredBy(this.#context, event, [group])))) {
        if (place !== judged.after) await storeTriggeredPlace(this.#context, event, place);
        return false;
      }
      place = group;
    }
    if (!judged.isWhole) {
      await storeTriggeredPlace(this.#context, event, place);
      return false;
    }
    for (;;) {
      const waiting = await waitingFor(this.#context, event, this.#authors);
      if (!(await this.#takeAll(event, waiting))) {
        await storeTriggeredPlace(this.#context, event, place);
        return false;
      }
      if (waiting.length < waitingMax) break;
    }
    if (judged.after !== undefined) await storeTriggeredPlace(this.#context, event, undefined);
    return true;
  }

  async #takeAll(event: EventRow, concerns: readonly Concern[]): Promise<boolean> {
    for (const concern of concerns) {
      if (this.#isOver() || !this.#identities.knows(concern.agent)) return false;
      this.#inputs += 1;
      await this.#take(event, concern);
    }
    return true;
  }

  #isOver(): boolean {
    return this.#inputs > 0 && (this.#inputs >= inputsMax || performance.now() > this.#endsAtMs);
  }

  async #take(event: EventRow, concern: Concern): Promise<void> {
    const context = this.#context;
    const { db, tenantId } = context;
    const { definitionKey, version, instanceId, instanceKey, correlations } = concern;
    const led = await linksTo(context, event);
    if (instanceId === null) {
      const { workspace_id: place } = (await useDefinition(context, definitionKey, version)).row;
      const agent = await this.#identities.of(concern.agent, place);
      const links = led === undefined ? 0 : led + 1;
      const start = { definitionKey, version, instanceKey, agent, event: rootOf(event), links };
      await startByEvent(context, start);
      return;
    }
    const row = await db.row(lockInstance(tenantId, instanceId));
    if (row === undefined || (row.status !== 'running' && row.status !== 'suspended')) return;
    // Since the trigger was evaluated, the instance may have migrated and may now act as another agent.
    const use = await useDefinition(context, definitionKey, row.definition_version);
    const agent = await agentOf(context, this.#identities, row);
    const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
    const input = await inputOf(context, event, correlations);
    const judged =
      version === row.definition_version ? input : correlateAgain(running, row.instance_key, input);
    await takeFromSource(context, running, judged, sourceOf(event), led);
  }
}

/** The event, with the data of the object that it concerns. */
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
