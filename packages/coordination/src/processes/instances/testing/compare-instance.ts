import assert from 'node:assert/strict';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { activityId } from '@baton/process-engine/engine/ids/activity-ids';
import type { Input } from '@baton/process-engine/engine/inputs';
import type { ProcessState } from '@baton/process-engine/engine/state';
import { Interpreter } from '@baton/process-engine/engine/testing/interpreter';
import type { ModelTimer } from '@baton/process-engine/engine/testing/interpreter-parts';
import { shownModel, shownState } from '@baton/process-engine/engine/testing/shown-states';
import type { Json, JsonObject } from '@baton/values/wire';
import { type LeftOpen, objectOf } from '../left-open/left-open.ts';
import type { Played } from './play-instances.ts';
import { eventOf } from './playable.ts';

/**
 * Checks a simulated instance: the reference interpreter processes the inputs from the instance's journal in order, and
 * must produce the same state, tasks, approvals, calls and events as the tables contain.
 */

interface Line {
  readonly seq: number;
  readonly at: string;
  readonly input: { readonly taken: Input } | null;
}

/**
 * @returns its status, and the kinds of inputs that it has processed.
 * @throws AssertionError if the instance and the interpreter differ, or an effect is duplicated or missing
 */
export async function compareWithInterpreter(
  db: Db,
  one: Played,
): Promise<{ status: string; kinds: string[] }> {
  const lines = await db.rows<Line>(sql`
    select seq, at, input from process_instance_journal where instance_id = ${one.id} order by seq`);
  const numbers = lines.map(({ seq }) => seq);
  const said: string[] = [];
  try {
    assert.deepEqual(
      numbers,
      numbers.map((_, n) => n + 1),
      'lines of the journal',
    );
    const inputs = lines.flatMap(({ at, input }) => (input === null ? [] : [{ at, ...input }]));
    const model = new Interpreter(one.spec, { n: 0 }, Date.parse(inputs[0]?.at as string));
    said.push(`${inputs[0]?.at} start`);
    for (const { at, taken } of inputs.slice(1)) {
      said.push(`${at} ${JSON.stringify({ ...taken, at: undefined, event: undefined })} ${eventText(taken)}`);
      give(model, one, Date.parse(at), taken);
    }
    await compare(
      db,
      one,
      model,
      inputs.map(({ taken }) => taken),
    );
    return { status: model.status, kinds: inputs.map(({ taken }) => taken.kind) };
  } catch (error) {
    console.error(`${one.id} ${JSON.stringify(one.spec)}\n  ${said.join('\n  ')}`);
    throw error;
  }
}

const eventText = (taken: Input) =>
  'event' in taken && taken.event ? `${taken.event.type} ${taken.event.entityId}` : '';

/** Passes an input of the instance to the interpreter. */
function give(model: Interpreter, one: Played, atMs: number, taken: Input): void {
  const { id } = one;
  switch (taken.kind) {
    case 'timer': {
      const timer = timerOf(model, one.id, taken.timerId);
      return timer && model.fire(atMs, timer);
    }
    case 'voters':
      return model.voters(atMs, taken.element, taken.principals);
    case 'intent_failed': {
      // The element's newest request: all requests of one input are refused together.
      const { element, approvalId, code } = taken;
      const asksFor = (text: string) => /^(open|find|ask)_/.test(text) && text.includes(` ${element}#`);
      model.history.splice(model.history.findLastIndex(asksFor), 1);
      const attempt = model.open.get(element)?.attempt ?? 0;
      const voter = model
        .askedOf(element)
        .find((one) => activityId(id, element, attempt, `approval/${one}`) === approvalId);
      return model.refuse(atMs, element, code, voter);
    }
    case 'suspend':
    case 'park':
      return model.suspend(atMs);
    case 'resume':
      return model.resume(atMs);
    case 'skip':
      return model.skip(atMs, taken.element);
    case 'cancel':
      return model.cancel(atMs, taken.compensate);
    case 'event':
      return giveEvent(model, one, atMs, taken);
    default:
      throw new Error(`none of these instances accepts ${taken.kind}`);
  }
}

/** The timer with this name: ids consist of the element, its attempt and the purpose. */
function timerOf(model: Interpreter, id: string, timerId: string): ModelTimer | undefined {
  return model.timers.find(({ element, purpose, level }) => {
    const stage = model.stageOfTimer(element);
    const attempt =
      model.open.get(element)?.attempt ?? (stage === undefined ? 1 : model.stages.get(stage)?.attempt) ?? 1;
    return activityId(id, element === '' ? id : element, attempt, `${purpose}/${level}`) === timerId;
  });
}

function giveEvent(
  model: Interpreter,
  one: Played,
  atMs: number,
  { event, task, call }: Extract<Input, { kind: 'event' }>,
): void {
  const { type, entityId } = event;
  if (type === 'observation.recorded') return model.hear(atMs, eventOf(event.payload['kind'], one.key));
  if (type === 'principal.disabled') return model.disabled(atMs, entityId);
  for (const { id, attempt, waitsFor } of model.open.values()) {
    const is = (purpose: string) => activityId(one.id, id, attempt, purpose) === entityId;
    if (waitsFor === 'task' && is('task')) {
      const { systemStatusCategory: category, customFields = {}, assigneeId } = task ?? {};
      if (category === 'terminal_cancelled') return model.fail(atMs, id, 'task_cancelled');
      if (category !== 'terminal_success') return;
      const workers = [event.actorId, assigneeId].filter((worker) => typeof worker === 'string');
      return model.answer(atMs, id, customFields, ...workers);
    }
    if (waitsFor === 'skill' && is('call') && call != null) {
      if (call.status === 'succeeded') return model.answer(atMs, id, call.output);
      if (call.status !== 'pending' && call.status !== 'running')
        return model.fail(atMs, id, call.error?.code ?? 'skill_failed');
    }
    if (waitsFor !== 'approvals') continue;
    const vote = {
      'approval.approved': 'approved',
      'approval.rejected': 'rejected',
      'approval.cancelled': 'left',
    }[type];
    const voter = model.askedOf(id).find((principal) => is(`approval/${principal}`));
    if (vote !== undefined && voter !== undefined)
      return model.vote(atMs, id, voter, vote as 'approved' | 'rejected' | 'left');
  }
}

async function compare(db: Db, one: Played, model: Interpreter, inputs: readonly Input[]): Promise<void> {
  const { id } = one;
  const row = (await db.row<{ status: string; state: ProcessState; kept: number; left_open: LeftOpen[] }>(sql`
    select status, state, kept_inputs as kept, left_open from process_instances where id = ${id}`)) as any;
  const nameOf = (event: JsonObject): Json => eventOf((event['payload'] as JsonObject)['kind'], one.key);
  assert.deepEqual(shownState(row.state, nameOf), shownModel(model));
  assert.equal(row.status, model.status);

  // Each order from an operator is carried out once.
  for (const verb of ['suspend', 'resume', 'skip', 'cancel'])
    assert.equal(inputs.filter(({ kind }) => kind === verb).length, one.accepted[verb] ?? 0, verb);
  const events = inputs.flatMap((input) => (input.kind === 'event' ? [input.event.id] : []));
  assert.equal(new Set(events).size, events.length, 'an event was processed twice');

  // Each effect, once.
  const asked = model.history.flatMap((text) => {
    const [effect = '', element = '', principal] = text.split(' ');
    const [name = '', attempt] = element.split('#');
    const purpose = { open_task: 'task', open_call: 'call', ask_approval: `approval/${principal}` }[effect];
    return purpose === undefined ? [] : [activityId(id, name, Number(attempt), purpose)];
  });
  const opened = await db.rows<{ id: string; is_open: boolean }>(sql`
    select id, category not in ('terminal_success', 'terminal_cancelled') as is_open from tasks
    where origin ->> 'ref' like ${`process/${id}/%`}
    union all
    select id, status in ('pending', 'running') from skill_invocations where requested_by_kind = 'process' and requested_by_ref = ${id}
    union all
    select entity_id, a.status = 'pending' from events e join approvals a on a.id = e.entity_id
    where e.type = 'approval.requested' and e.correlation_id = ${`process:${id}`}`);
  assert.deepEqual(
    opened.map((row) => row.id).sort(),
    [...new Set(asked)].sort(),
    'tasks, calls and approvals',
  );

  // If no input is pending, the open objects must be exactly those that open steps wait for.
  if (row.kept === 0) {
    const awaited = [...model.open.values()].flatMap(({ id: element, attempt, waitsFor, isRefused }) => {
      const idOf = (purpose: string) => activityId(id, element, attempt, purpose);
      if (isRefused) return [];
      if (waitsFor === 'task') return [idOf('task')];
      if (waitsFor === 'skill') return [idOf('call')];
      return waitsFor === 'approvals'
        ? model.askedOf(element, 'pending').map((voter) => idOf(`approval/${voter}`))
        : [];
    });
    // Objects that could not be closed are reported, and are closed later.
    const left = row.left_open.map(({ effect }: LeftOpen) => objectOf(effect).id);
    const stillOpen = opened
      .filter(({ id: one, is_open: isOpen }) => isOpen && !left.includes(one))
      .map((one) => one.id);
    assert.deepEqual(stillOpen.sort(), awaited.sort(), 'the open objects');
  }

  const told = await db.rows<{ type: string; payload: JsonObject }>(sql`
    select type, payload from events where entity_id = ${id} and type like 'process.%' order by position, sequence`);
  const of = (type: string) =>
    told.filter((event) => event.type === `process.${type}`).map(({ payload }) => payload);
  const ends = ['completed', 'failed', 'cancelled'];
  assert.deepEqual(
    ends.map((end) => of(end).length),
    ends.map((end) => (end === model.status ? 1 : 0)),
    'emitted ends',
  );
  assert.equal(of('started').length, 1);
  assert.equal(told[0]?.type, 'process.started');
  assert.deepEqual(
    insideOf(told),
    Object.keys(row.state.stages)
      .filter((stage) => row.state.stages[stage].state === 'active')
      .sort(),
    'stages that were entered and not exited',
  );
  const entered = of('step_entered').map(({ element, attempt }) => `${element}#${attempt}`);
  assert.equal(new Set(entered).size, entered.length, 'a step was entered twice');
  assert.deepEqual(
    of('escalated')
      .map(({ element, level }) => `${element} ${level}`)
      .sort(),
    model.history
      .filter((text) => text.startsWith('escalate '))
      .map((text) => text.replace(/^escalate (\w+)#\d+/, '$1'))
      .sort(),
    'escalations',
  );
  if (model.status === 'suspended') assert.ok(of('suspended').length > 0);
  if (model.status === 'running')
    assert.ok(
      model.open.size > 0 ||
        model.timers.length > 0 ||
        (one.spec.correlate ?? one.spec.onEvent) !== undefined,
      'the instance waits for no object',
    );
}

/**
 * The active stages of an instance, derived from its events. @throws AssertionError if one is entered or exited twice
 */
function insideOf(told: readonly { readonly type: string; readonly payload: JsonObject }[]): string[] {
  const inside = new Set<string>();
  for (const { type, payload } of told) {
    const stage = String(payload['stage']);
    if (type === 'process.stage_entered') assert.ok(!inside.has(stage), `${stage} was entered twice`);
    if (type === 'process.stage_entered') inside.add(stage);
    if (type === 'process.stage_exited') assert.ok(inside.delete(stage), `${stage} was exited twice`);
  }
  return [...inside].sort();
}
