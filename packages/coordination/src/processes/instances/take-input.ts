import { Refusal } from '@baton/kernel/http/refusal';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { slaStateOf } from '@baton/process-engine/engine/deadlines';
import type { Definition } from '@baton/process-engine/engine/definition-lists';
import { takeInput } from '@baton/process-engine/engine/engine';
import { isResumedBy, ownHandlersOf } from '@baton/process-engine/engine/handlers';
import type { Act, Input, ProcessEvent } from '@baton/process-engine/engine/inputs';
import { type EngineTools, ProcessFault } from '@baton/process-engine/engine/machine';
import { migrationFailed, type Parked, type ProcessState } from '@baton/process-engine/engine/state';
import { isOpen } from '@baton/process-engine/engine/timers';
import { waitsOf } from '@baton/process-engine/engine/waits';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import { isUnavailable } from '../../rules/acts/work-item.ts';
import { type Caller, nobody } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import type { Target } from './definitions-in-use.ts';
import { carryOutEffect } from './effects.ts';
import type { InstanceRow, Recorded } from './instance.ts';
import { type ProcessEventType, processEvents } from './instances.events.ts';
import {
  insertEntries,
  insertInput,
  type NewEntry,
  readClock,
  replaceTimers,
  replaceWaits,
  storeOrSkip,
  updateDueTime,
  updateInstance,
  updateToKept,
  updateToStaying,
  updateVersion,
} from './instances.sql.ts';
import { earliestOf, isClosing, type LeftOpen, leftOpenOf, refusalEntry } from './left-open/left-open.ts';
import { linksMax, linksOfStart, loopFault } from './loops/links.ts';
import { namesOf } from './people/responsible.ts';

/**
 * The processing of inputs by instances, in one transaction with all consequences (docs/reference/processes.md#engine).
 */

/** Maximum number of inputs that one input causes through the results or refusals of its effects. */
const followUpsMax = 20;
/** Maximum number of stored inputs; any beyond that are skipped, and the journal records their number. */
const keptMax = 1000;
/** A higher maximum for inputs that an open step waits for: without them the instance would wait forever. */
const answersMax = 2000;
/** The maximum number of an instance's unclosed objects; any beyond that are recorded only in the journal. */
const leftOpenMax = 200;

/** A locked instance, with its definition and dependencies. */
export interface Running {
  readonly row: InstanceRow;
  readonly definition: Definition;
  readonly tools: EngineTools;
  /** The agent that the instance acts as; undefined if that agent can't act. */
  readonly agent: Caller | undefined;
  /** The version that the instance had before this input. */
  readonly before?: Definition;
  /** The length of the chain of process triggers that led to the current input. */
  readonly links?: number;
}

/**
 * Delivers an external input to an instance, once per source. While the instance is suspended, or has earlier inputs
 * pending, the input is stored. An input with too long a chain of triggers suspends the instance.
 * @param led the number of links that led to the event; undefined for none
 * @param sourceRef `event:<id>`, `timer:<id>:<due>`
 * @returns the instance afterwards; undefined if it has already processed the source, or can store no more inputs
 * @throws Error of the store, and a refusal because external authorization is unavailable
 */
export async function takeFromSource(
  context: Context,
  one: Running,
  input: Input,
  sourceRef: string,
  led?: number,
): Promise<InstanceRow | undefined> {
  const { db, tenantId } = context;
  const { row, definition, tools } = one;
  const isLink =
    led !== undefined &&
    (acts(input, definition, row.state) || !isAnswer(input, waitsOf(definition, row.state)));
  const ownLinks = input.kind === 'event' ? 0 : linksOfStart(row.state, input.at);
  const links = isLink ? led + 1 : (led ?? ownLinks);
  const running = { ...one, links };
  const isLoop = isLink && links > linksMax;
  const resumes = !isLoop && isResumedBy(definition, row.state, input, tools);
  if (!resumes && (row.status === 'suspended' || row.kept_inputs > 0))
    return keepInput(context, running, input, sourceRef);
  const isNew = await db.row(insertInput(tenantId, row.id, sourceRef, links));
  if (isNew === undefined) return undefined;
  if (isLoop && row.status === 'running')
    return storeInputFirst(context, running, input, sourceRef, loopFault);
  // Any inputs that are pending before this one are delivered by the worker.
  if (resumes)
    return recordSkippedInputs(context, await takeOrStore(context, running, input, sourceRef), input.at);
  return takeOrStore(context, running, input, sourceRef);
}

/** Whether an event activates a handler of the definition, in addition to any steps that wait for the event. */
function acts(input: Input, definition: Definition, state: ProcessState): boolean {
  if (input.kind !== 'event') return false;
  if ((input.correlations ?? []).some((n) => definition.handlers[n]?.list !== undefined)) return true;
  return ownHandlersOf(definition, state, input.event).length > 0;
}

/** Stores an input for later. @returns undefined if it is a duplicate, or too many inputs are pending */
async function keepInput(
  context: Context,
  { row, definition, links = 0 }: Running,
  input: Input,
  sourceRef: string,
): Promise<InstanceRow | undefined> {
  const { db, tenantId } = context;
  const isFull =
    row.kept_inputs >= answersMax ||
    (row.kept_inputs >= keptMax && !isAnswer(input, waitsOf(definition, row.state)));
  const kept = isFull ? null : keptOf(input, definition);
  const noted = await db.row(storeOrSkip(tenantId, row.id, sourceRef, kept, links));
  if (noted === undefined || !isFull) return noted;
  if (row.passed_over === 0) await notePassed(context, noted, input.at, { from: sourceRef });
  return undefined;
}

/**
 * Includes the version for which the input was selected, because the instance may migrate before the input is
 * processed.
 */
const keptOf = (input: Input, { version }: Definition): Input =>
  input.kind === 'event' ? { ...input, version } : input;

/** Whether the input concerns an object that an open step waits for by id. For a task, only its end counts. */
function isAnswer(input: Input, waits: readonly string[]): boolean {
  if (input.kind !== 'event') return true;
  const { event, task } = input;
  if (task != null && !['terminal_success', 'terminal_cancelled'].includes(task.systemStatusCategory))
    return false;
  return waits.includes(`entity:${event.entityId}`) || waits.includes(`ended:${event.entityId}`);
}

/**
 * At most two lines per suspension: one at the first skipped input, and one at the end with the number of skipped
 * inputs.
 */
async function notePassed(
  context: Context,
  row: InstanceRow,
  at: string,
  data: object,
): Promise<InstanceRow> {
  const { db, tenantId } = context;
  const entry = {
    at,
    kind: 'input',
    element: null,
    reason: 'passed_over',
    actor_id: null,
    event_id: null,
  } as const;
  await db.run(insertEntries(tenantId, row.id, row.journal_seq, [{ ...entry, data }]));
  const care = { ...row, journal_seq: row.journal_seq + 1 };
  return (await db.row(updateDueTime(tenantId, row.id, care, row.attend_at))) as InstanceRow;
}

/** Records the number of skipped inputs in the journal, and resets the count. */
export async function recordSkippedInputs(
  context: Context,
  row: InstanceRow,
  at: string,
): Promise<InstanceRow> {
  if (row.passed_over === 0) return row;
  return notePassed(context, { ...row, passed_over: 0 }, at, { inputs: row.passed_over });
}

/** Delivers an input to an instance; an input that fails suspends it, and is stored for the resume. */
export async function takeOrStore(
  context: Context,
  running: Running,
  input: Input,
  sourceRef: string | null,
): Promise<InstanceRow> {
  const taken = await undoOnFailure<InstanceRow | ProcessFault>(
    context,
    () => take(context, running, input),
    (error) => faultOf(context, running.row, error),
  );
  if (!(taken instanceof ProcessFault)) return taken;
  const { element, code, message: reason } = taken;
  return storeInputFirst(context, running, input, sourceRef, { element, code, reason });
}

/** Suspends an instance, and stores the input that failed for the resume. */
export async function storeInputFirst(
  context: Context,
  running: Running,
  input: Input,
  sourceRef: string | null,
  fault: Parked,
): Promise<InstanceRow> {
  if (sourceRef !== null)
    await context.db.run(
      updateToKept(context.tenantId, running.row.id, sourceRef, keptOf(input, running.definition)),
    );
  const { id, type } = (input.kind === 'start' ? input.event : null) ?? {};
  const trigger = id === undefined || type === undefined ? {} : { trigger: { id, type } };
  return take(context, running, { kind: 'park', at: input.at, ...fault, ...trigger });
}

/**
 * Migrates an instance to a later version; if that fails, the instance is suspended with the reason and keeps its
 * version. The caller holds the lock of the instance.
 * @param agent the agent of the later version
 */
export async function migrateInstance(
  context: Context,
  row: InstanceRow,
  { migration, agentKey, before, after }: Target,
  agent: Caller | undefined,
): Promise<InstanceRow> {
  const { db, tenantId } = context;
  const { from_version: fromVersion, to_version: toVersion } = migration;
  const { now: at } = (await db.row(readClock())) as { now: string };
  const taken = await undoOnFailure<InstanceRow | ProcessFault>(
    context,
    async () => {
      const moved = await db.row(updateVersion(tenantId, row.id, toVersion, agentKey));
      const running = { row: moved as InstanceRow, ...after, agent, before: before.definition };
      return take(context, running, { kind: 'migrate', at, fromVersion, toVersion });
    },
    (error) => faultOf(context, row, error),
  );
  if (!(taken instanceof ProcessFault)) return taken;
  const { element, code, message } = taken;
  const where = element === null ? '' : ` at ${element}`;
  const reason = `version ${toVersion}${where}: ${code}: ${message}`.slice(0, 1000).toWellFormed();
  // No element caused the fault, so no element can be skipped.
  const fault = { element: null, code: migrationFailed, reason };
  await take(context, { row, ...before, agent }, { kind: 'park', at, ...fault });
  return (await db.row(updateToStaying(tenantId, row.id, toVersion))) as InstanceRow;
}

/**
 * @throws errors that the instance didn't cause
 */
function faultOf({ log, tenantId }: Context, { id }: InstanceRow, error: unknown): ProcessFault {
  if (error instanceof ProcessFault) return error;
  if (isUnavailable(error)) throw error;
  log.error({ err: error, tenantId, instanceId: id }, 'process instance failed');
  return new ProcessFault('internal_error', 'An unexpected error; only the log has its trace.');
}

/** @throws ProcessFault */
async function take(context: Context, running: Running, input: Input): Promise<InstanceRow> {
  const { row, definition, tools } = running;
  const about = await causeOf(context, running, input);
  const done: Done = { entries: [], leftOpen: [] };
  let { state } = row;
  const waiting: Input[] = [input];
  for (let taken = 0; waiting.length > 0; taken += 1) {
    if (taken > followUpsMax)
      throw new ProcessFault('too_many_follow_ups', `more than ${followUpsMax} inputs followed from one`);
    const taking = waiting.shift() as Input;
    const recorded = recordedOf(row, done.entries.length === 0, taking);
    const next = takeInput(definition, state, taking, tools);
    ({ state } = next);
    const first = done.entries.length;
    for (const act of next.acts) waiting.push(...(await doAct(about, running, state, act, done)));
    // The first line about an input describes the input itself.
    if (done.entries[first] !== undefined) done.entries[first] = { ...done.entries[first], input: recorded };
  }
  return save(about, running, state, done);
}

/** @param isFirst whether it is the first input of its transaction */
function recordedOf({ journal_seq: lastSeq, state }: InstanceRow, isFirst: boolean, taken: Input): Recorded {
  if (!isFirst || lastSeq > 0) return { taken };
  const { data, hasBegun } = state;
  return { taken, began: { data, ...(hasBegun !== undefined && { hasBegun }) } };
}

/** The consequences of an input besides the next state. */
interface Done {
  readonly entries: NewEntry[];
  readonly leftOpen: LeftOpen[];
}

/** An instance's events name their cause, and share the correlation id of the instance. */
async function causeOf(context: Context, { row }: Running, input: Input): Promise<Context> {
  const causationId = (input.kind === 'event' || input.kind === 'start') && input.event?.id;
  return {
    ...context,
    correlationId: `process:${row.id}`,
    ...(causationId && { causationId }),
  };
}

/** @returns the inputs that follow from it */
async function doAct(
  context: Context,
  running: Running,
  state: ProcessState,
  act: Act,
  { entries, leftOpen }: Done,
): Promise<Input[]> {
  if (act.do === 'note') {
    const { kind, element, reason, data } = act.note;
    const actorId = context.caller.principalId || null;
    const eventId = context.causationId ?? null;
    const at = state.clock;
    entries.push({ at, kind, element, reason, actor_id: actorId, event_id: eventId, data });
    return [];
  }
  const { agent, row } = running;
  if (act.do === 'tell') {
    const { event, responsible } = act;
    const named = responsible && (await namesOf(context, row.workspace_id, responsible));
    tell(context, row, { ...event, payload: { ...event.payload, ...named } });
    return [];
  }
  const { effect, opened } = act;
  const refused = (code: string, details: JsonObject): Input[] => {
    // The worker retries effects that close objects; effects that open objects are given up.
    const { element } = effect;
    if (element === null || isClosing(effect) || effect.kind === 'escalate') {
      entries.push(refusalEntry(effect, code, state.clock));
      if (isClosing(effect)) leftOpen.push(leftOpenOf(effect, code, state.clock));
      return [];
    }
    const which = effect.kind === 'ask_approval' ? { approvalId: effect.approvalId } : {};
    return [{ kind: 'intent_failed', at: state.clock, element, ...which, code, details }];
  };
  const acting = { ...context, caller: agent ?? { ...nobody, tenantId: context.tenantId } };
  if (agent === undefined && !isClosing(effect) && effect.kind !== 'escalate')
    return refused('process_definition_unusable', {});
  return undoOnFailure(
    acting,
    async () => {
      const follow = await carryOutEffect(acting, row, effect, state.clock, running.links);
      if (opened !== undefined) tell(context, row, opened);
      if (follow?.tell !== undefined) tell(context, row, follow.tell);
      return follow?.input === undefined ? [] : [follow.input];
    },
    (error) => {
      if (!(error instanceof Refusal) || isUnavailable(error)) throw error;
      return refused(error.code, error.details as JsonObject);
    },
  );
}

function tell(context: Context, row: InstanceRow, { type, payload }: ProcessEvent): void {
  // The payload types have only their head in common, so tests validate each payload against its own schema.
  const event: EventDeclaration = processEvents[type as ProcessEventType];
  const head = {
    instanceId: row.id,
    definitionKey: row.definition_key,
    version: row.definition_version,
    instanceKey: row.instance_key,
    workspaceId: row.workspace_id,
  };
  const about = { entityId: row.id, workspaceId: row.workspace_id };
  emit(context, event, about, { ...head, ...payload });
}

async function save(
  context: Context,
  { row, definition, before = definition }: Running,
  state: ProcessState,
  { entries, leftOpen }: Done,
): Promise<InstanceRow> {
  const { id, journal_seq: lastSeq } = row;
  const { db, tenantId } = context;
  const isOver = state.status !== 'running' && state.status !== 'suspended';
  await db.run(insertEntries(tenantId, id, lastSeq, entries));
  const timers = Object.values(state.timers).flatMap((timer) =>
    isOpen(timer) && timer.state === 'pending' && timer.dueAt !== null && !isOver
      ? [{ id: timer.id, due_at: timer.dueAt }]
      : [],
  );
  if (timersKeyOf(row.state) !== JSON.stringify(timers)) await db.run(replaceTimers(tenantId, id, timers));
  const [waitedFor, waits] = [waitsOf(before, row.state), waitsOf(definition, state)];
  if (waitedFor.join() !== waits.join()) await db.run(replaceWaits(tenantId, id, waits));
  const saved = (await db.row(
    updateInstance(tenantId, id, {
      status: state.status,
      outcome: state.outcome,
      state,
      sla_state: slaStateOf(state),
      journal_seq: lastSeq + entries.length,
      completed_at: isOver ? state.clock : null,
    }),
  )) as InstanceRow;
  return leftOpen.length === 0 ? saved : noteLeftOpen(context, saved, leftOpen);
}

function timersKeyOf(state: ProcessState): string {
  const counting = Object.values(state.timers).filter(
    (timer) => timer.state === 'pending' && timer.dueAt !== null,
  );
  return JSON.stringify(counting.map(({ id, dueAt }) => ({ id, due_at: dueAt })));
}

/** Adds the refused closes to the instance's unclosed objects. */
async function noteLeftOpen(
  { db, tenantId }: Context,
  row: InstanceRow,
  added: readonly LeftOpen[],
): Promise<InstanceRow> {
  const left_open = [...row.left_open, ...added].slice(0, leftOpenMax);
  const attendAt = row.attend_at ?? earliestOf(left_open);
  return (await db.row(updateDueTime(tenantId, row.id, { ...row, left_open }, attendAt))) as InstanceRow;
}
