import { Refusal } from '@baton/kernel/refusal';
import type { EventDeclaration } from '@baton/kernel/service';
import type { JsonObject } from '@baton/kernel/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { undoneOnFailure } from '../../ledger/savepoint.ts';
import { type Caller, nobody } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import { slaStateOf } from '../process-engine/deadlines.ts';
import type { Definition } from '../process-engine/definition-lists.ts';
import { takeInput } from '../process-engine/engine.ts';
import type { Act, Input, ProcessEvent } from '../process-engine/inputs.ts';
import { type EngineTools, ProcessFault } from '../process-engine/machine.ts';
import type { ProcessState } from '../process-engine/state.ts';
import { isOpen } from '../process-engine/timers.ts';
import { waitsOf } from '../process-engine/waits.ts';
import { isUnavailable } from '../rule-acts/work-item.ts';
import { doEffect } from './effects.ts';
import type { InstanceRow } from './instance.ts';
import { type ProcessEventType, processEvents } from './instances.events.ts';
import {
  findHeld,
  hasHeld,
  insertEntries,
  insertInput,
  type NewEntry,
  replaceTimers,
  replaceWaits,
  updateInstance,
  updateToHeld,
  updateToTaken,
} from './instances.sql.ts';

/** How inputs reach an instance: in one transaction with all that they lead to (organisation, section 15.4). */

/** Inputs that follow from one, because of what its effects found or were refused. */
const followUpsMax = 20;
/** Inputs that wait for a suspended instance; what comes beyond is passed over. */
const heldMax = 1000;

/** An instance under its lock, and what it works with. */
export interface Running {
  readonly row: InstanceRow;
  readonly definition: Definition;
  readonly tools: EngineTools;
  /** In whose name it acts; undefined where that agent can not. */
  readonly agent: Caller | undefined;
}

/**
 * Has an instance take an input that comes from outside, once for each source. While it is suspended, events wait.
 * @param sourceRef `event:<id>`, `timer:<id>:<due>`
 * @returns the instance as it is after it; undefined where it has taken the source before, or keeps no more
 * @throws Error of the store, and a refusal because a judge outside is away
 */
export async function takeFromSource(
  context: Context,
  running: Running,
  input: Input,
  sourceRef: string,
): Promise<InstanceRow | undefined> {
  const { db, tenantId, log } = context;
  const { row } = running;
  const waits = row.status === 'suspended';
  if (waits && (await db.row(hasHeld(tenantId, row.id, heldMax)))?.has === true) {
    log.warn(
      { tenantId, instanceId: row.id, sourceRef },
      'a suspended process instance keeps no more events',
    );
    return undefined;
  }
  const isNew = await db.row(insertInput(tenantId, row.id, sourceRef, waits ? input : null));
  if (isNew === undefined) return undefined;
  if (waits) return row;
  return takeOrPark(context, running, input, sourceRef);
}

/** Has an instance take an input; one that it can't take suspends it, and is kept for a resume. */
export async function takeOrPark(
  context: Context,
  running: Running,
  input: Input,
  sourceRef: string | null,
): Promise<InstanceRow> {
  const taken = await undoneOnFailure<InstanceRow | ProcessFault>(
    context,
    () => take(context, running, input),
    (error) => faultOf(context, running.row, error),
  );
  if (!(taken instanceof ProcessFault)) return taken;
  const { element, code, message: reason } = taken;
  if (sourceRef !== null)
    await context.db.run(updateToHeld(context.tenantId, running.row.id, sourceRef, input));
  return take(context, running, { kind: 'park', at: input.at, element, code, reason });
}

/** @throws what is no fault of the instance */
function faultOf({ log, tenantId }: Context, { id }: InstanceRow, error: unknown): ProcessFault {
  if (error instanceof ProcessFault) return error;
  if (isUnavailable(error)) throw error;
  log.error({ err: error, tenantId, instanceId: id }, 'a process instance broke');
  return new ProcessFault('internal_error', 'An unhandled failure; the trace is in the log only.');
}

/**
 * Has a suspended instance go on by an act of an operator, and then take what came meanwhile, in its order.
 */
export async function goOnWith(context: Context, running: Running, input: Input): Promise<InstanceRow> {
  const { db, tenantId } = context;
  let row = await takeOrPark(context, running, input, null);
  for (const { source_ref: sourceRef, held } of await db.rows(findHeld(tenantId, row.id, heldMax))) {
    if (row.status !== 'running') return row;
    await db.run(updateToTaken(tenantId, row.id, sourceRef));
    const waited = { ...(held as Input), at: input.at };
    row = await takeOrPark(context, { ...running, row }, waited, sourceRef);
  }
  return row;
}

/** @throws ProcessFault */
async function take(context: Context, running: Running, input: Input): Promise<InstanceRow> {
  const { row, definition, tools } = running;
  const about = await causeOf(context, running, input);
  const entries: NewEntry[] = [];
  let { state } = row;
  const waiting: Input[] = [input];
  for (let taken = 0; waiting.length > 0; taken += 1) {
    if (taken > followUpsMax)
      throw new ProcessFault('too_many_follow_ups', `more than ${followUpsMax} inputs followed from one`);
    const next = takeInput(definition, state, waiting.shift() as Input, tools);
    ({ state } = next);
    for (const act of next.acts) waiting.push(...(await doAct(about, running, state, act, entries)));
  }
  return save(about, running, state, entries);
}

/** Events of an instance follow from what it took, and belong together by their correlation. */
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
  entries: NewEntry[],
): Promise<Input[]> {
  if (act.do === 'note') {
    const { kind, element, reason, data } = act.note;
    const actorId = context.caller.principalId || null;
    const eventId = context.causationId ?? null;
    const at = state.clock;
    entries.push({ at, kind, element, reason, actor_id: actorId, event_id: eventId, data });
    return [];
  }
  if (act.do === 'tell') {
    tell(context, running.row, act.event);
    return [];
  }
  const { agent, row } = running;
  const { effect, opened } = act;
  const refused = (code: string, details: JsonObject): Input[] => {
    // What closes is closed by whoever may, sooner or later; only what a step opens is missed.
    const isOpening =
      effect.kind.startsWith('open_') || effect.kind === 'find_voters' || effect.kind === 'ask_approval';
    if (!isOpening) return [];
    return [{ kind: 'intent_failed', at: state.clock, element: effect.element, code, details }];
  };
  const acting = { ...context, caller: agent ?? { ...nobody, tenantId: context.tenantId } };
  if (agent === undefined && !effect.kind.startsWith('close_'))
    return refused('process_definition_unusable', {});
  return undoneOnFailure(
    acting,
    async () => {
      const follow = await doEffect(acting, row, effect, state.clock);
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
  // Its payload is compared with its own form while the tests run; the types of all of them have only the head in common.
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
  { db, tenantId }: Context,
  { row, definition }: Running,
  state: ProcessState,
  entries: readonly NewEntry[],
): Promise<InstanceRow> {
  const { id, journal_seq: lastSeq } = row;
  const isOver = state.status !== 'running' && state.status !== 'suspended';
  await db.run(insertEntries(tenantId, id, lastSeq, entries));
  const timers = Object.values(state.timers).flatMap((timer) =>
    isOpen(timer) && timer.state === 'pending' && timer.dueAt !== null && !isOver
      ? [{ id: timer.id, due_at: timer.dueAt }]
      : [],
  );
  const [before, now] = [timersKeyOf(row.state), JSON.stringify(timers)];
  if (before !== now) await db.run(replaceTimers(tenantId, id, timers));
  const [waitedFor, waits] = [waitsOf(definition, row.state), waitsOf(definition, state)];
  if (waitedFor.join() !== waits.join()) await db.run(replaceWaits(tenantId, id, waits));
  return (await db.row(
    updateInstance(tenantId, id, {
      status: state.status,
      outcome: state.outcome,
      state,
      sla_state: slaStateOf(state),
      journal_seq: lastSeq + entries.length,
      completed_at: isOver ? state.clock : null,
    }),
  )) as InstanceRow;
}

function timersKeyOf(state: ProcessState): string {
  const counting = Object.values(state.timers).filter(
    (timer) => timer.state === 'pending' && timer.dueAt !== null,
  );
  return JSON.stringify(counting.map(({ id, dueAt }) => ({ id, due_at: dueAt })));
}
