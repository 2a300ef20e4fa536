import type { Json, JsonObject } from '@baton/values/wire';
import { kindOf, type Retry, type Step } from '../language/step.ts';
import { discretionaryList } from './definition-lists.ts';
import { activityId } from './ids/activity-ids.ts';
import { durationMs, type Machine } from './machine.ts';
import type { ElementNode, SequenceNode, StepError, StepRoot } from './state.ts';
import { cancelTimersOf, schedule } from './timers.ts';

/** The execution of lists of steps, and the handling of errors in them. */

export type ExitOutcome =
  | 'completed'
  | 'cancelled'
  | 'withdrawn'
  | 'interrupted'
  | 'failed'
  | 'timed_out'
  | 'migrated';

/** Begins a list of steps. @param parent the element that it belongs to */
export function startList(m: Machine, id: string, parent: string | null, stage: string | null): void {
  m.state.nodes[id] = { kind: 'sequence', id, order: m.nextOrder(), parent, stage, at: 0 };
  m.ready.push(id);
}

/** Runs lists until each of them waits for something. */
export function runReady(m: Machine): void {
  for (let id = m.ready.shift(); id !== undefined; id = m.ready.shift()) {
    if (m.state.status !== 'running') return;
    const sequence = m.sequence(id);
    if (sequence !== undefined) goOn(m, sequence);
  }
}

function goOn(m: Machine, sequence: SequenceNode): void {
  const step = m.definition.lists.get(sequence.id)?.[sequence.at];
  if (step === undefined) return end(m, sequence);
  m.count();
  m.current = step.id;
  const { skipped } = m.state;
  if (skipped.includes(step.id)) {
    m.state.skipped = skipped.filter((id) => id !== step.id);
    m.note('state', step.id, 'skipped');
    return advance(m, sequence);
  }
  // A discretionary step needs no check, because it begins only when its condition is met.
  if (step.when !== undefined && sequence.id !== discretionaryList(step.id)) {
    const holds = m.holds(step.when);
    m.note('decision', step.id, 'when', { holds });
    if (!holds) return advance(m, sequence);
  }
  enter(m, sequence, step);
}

export function advance(m: Machine, sequence: SequenceNode): void {
  sequence.at += 1;
  m.ready.push(sequence.id);
}

function enter(m: Machine, sequence: SequenceNode, step: Step): void {
  const attempt = (m.state.attempts[step.id] ?? 0) + 1;
  m.state.attempts[step.id] = attempt;
  const input = step.input === undefined ? {} : { input: m.evaluate(step.input.from) };
  const node: ElementNode = {
    kind: 'element',
    id: step.id,
    order: m.nextOrder(),
    stepKind: kindOf(step),
    parent: sequence.id,
    stage: sequence.stage,
    attempt,
    activityId: activityId(m.state.id, step.id, attempt),
    since: m.now,
    ...input,
    waitsFor: null,
    due: null,
    slaState: 'none',
  };
  m.state.nodes[step.id] = node;
  m.enter(m, node, step);
}

/** A list of steps is done: the element that it belongs to continues. */
function end(m: Machine, sequence: SequenceNode): void {
  delete m.state.nodes[sequence.id];
  const owner = sequence.parent === null ? undefined : m.element(sequence.parent);
  if (owner === undefined) return;
  const others = m.sequences().filter(({ parent }) => parent === owner.id);
  if (owner.stepKind === 'fork') {
    const { fork } = m.step(owner.id);
    const branch = fork?.branches.find((_, n) => sequence.id === `${owner.id}/fork/branches/${n}/do`)?.id;
    if (fork?.mode === 'compete') {
      for (const other of others) cancelSequence(m, other, 'withdrawn');
      return finish(m, owner, { winner: branch ?? null });
    }
    if (others.length > 0) return;
    return finish(m, owner, null);
  }
  if (owner.stepKind === 'compensate') return undoNext(m, owner);
  finish(m, owner, null, owner.stepKind === 'listen' ? { status: 'timed_out' } : {});
}

/** Ends a step: its result is shaped and exported, and the next step begins. */
export function finish(
  m: Machine,
  node: ElementNode,
  result: Json,
  { skill = null, status = 'completed' }: { skill?: string | null; status?: string } = {},
): void {
  m.current = node.id;
  const step = m.step(node.id);
  // The expected result did not arrive, so nothing is exported.
  const isLate = status === 'timed_out';
  const of = (value: Json): StepRoot => ({
    id: node.id,
    skill,
    status,
    result: value,
    error: null,
    input: node.input ?? null,
  });
  const shaped =
    step.output === undefined || isLate ? result : m.evaluate(step.output.as, m.roots(of(result)));
  const root = of(shaped);
  m.state.lastStep = root;
  const as = isLate ? undefined : step.export?.as;
  if (typeof as === 'string') m.write({ [as]: shaped }, node.id);
  else if (as !== undefined) m.write(m.evaluateAll(as, m.roots(root)), node.id);
  if (step.onCompensate !== undefined)
    m.state.undoable.push({ element: node.id, attempt: node.attempt, stage: node.stage, step: root });
  exit(m, node, isLate ? 'timed_out' : 'completed');
  const sequence = m.sequence(node.parent);
  if (sequence !== undefined) advance(m, sequence);
}

/** Closes the objects that a step has opened outside of the engine. */
function closeWork(m: Machine, node: ElementNode): void {
  const { id: element, taskId, callId, childId, recallId, ballots = [] } = node;
  for (const { approvalId, vote, asked } of ballots)
    if (asked && vote === 'pending') m.effect({ kind: 'close_approval', element, approvalId });
  if (node.refused) return;
  if (taskId !== undefined && node.isAnswered !== true) m.effect({ kind: 'close_task', element, taskId });
  if (callId !== undefined && node.isAnswered !== true) m.effect({ kind: 'close_call', element, callId });
  if (recallId !== undefined && node.isAnswered !== true)
    m.effect({ kind: 'close_recall', element, recallId });
  if (childId !== undefined && node.isAnswered !== true)
    m.effect({ kind: 'close_instance', element, childId });
}

/** Closes the objects of a step, and emits its end. */
export function exit(m: Machine, node: ElementNode, outcome: ExitOutcome): void {
  closeWork(m, node);
  cancelTimersOf(m, node.id);
  const { id: element, stage, stepKind, attempt, activityId: activity, since, due } = node;
  const overdueMs = due?.dueAt == null ? 0 : m.nowMs - Date.parse(due.dueAt);
  m.note('state', element, outcome, { attempt });
  if (node.refused !== true || node.isEntered === true)
    m.tell('process.step_exited', {
      element,
      stage,
      stepKind,
      attempt,
      activityId: activity,
      enteredAt: since,
      exitedAt: m.now,
      outcome,
      durationSeconds: Math.max(0, Math.floor((m.nowMs - Date.parse(since)) / 1000)),
      due: due?.dueAt ?? null,
      breached: node.slaState === 'breached',
      overdueSeconds: overdueMs > 0 ? Math.floor(overdueMs / 1000) : null,
    });
  delete m.state.nodes[element];
}

/** Ends an unfinished step and everything in it. */
export function cancelElement(m: Machine, node: ElementNode, outcome: ExitOutcome): void {
  cancelInside(m, node, outcome);
  exit(m, node, outcome);
}

function cancelInside(m: Machine, node: ElementNode, outcome: ExitOutcome): void {
  for (const sequence of m.sequences()) if (sequence.parent === node.id) cancelSequence(m, sequence, outcome);
}

export function cancelSequence(m: Machine, sequence: SequenceNode, outcome: ExitOutcome): void {
  for (const node of m.elements()) if (node.parent === sequence.id) cancelElement(m, node, outcome);
  delete m.state.nodes[sequence.id];
}

/**
 * Handles the failure of a step: the nearest `try` around it retries or catches the error; without one, the instance
 * fails. If the instance is being cancelled, it waits for an operator instead, because the rest of the compensation
 * would otherwise be lost.
 * @param outcome of the step itself
 */
export function failElement(
  m: Machine,
  node: ElementNode,
  error: StepError,
  outcome: 'failed' | 'timed_out' = 'failed',
): void {
  m.state.lastStep = {
    id: node.id,
    skill: null,
    status: outcome,
    result: null,
    error,
    input: node.input ?? null,
  };
  m.note('decision', node.id, 'error', { ...error });
  cancelElement(m, node, outcome);
  let sequence = m.sequence(node.parent);
  while (sequence !== undefined && sequence.parent !== null) {
    const owner = m.element(sequence.parent) as ElementNode;
    if (sequence.id === `${owner.id}/try/do` && handle(m, owner, sequence, error)) return;
    cancelElement(m, owner, 'failed');
    sequence = m.sequence(owner.parent);
  }
  if (m.state.ending === null) return failInstance(m, error, node.id);
  const step = sequence && m.definition.lists.get(sequence.id)?.[sequence.at];
  m.stalled = {
    element: step?.id ?? node.id,
    code: error.type,
    reason: error.detail ?? 'the compensation has failed',
  };
  m.ready.splice(0);
}

/** Whether a `try` around this step would catch an error in it. */
export function isCaught(m: Machine, node: ElementNode, type: string): boolean {
  let sequence = m.sequence(node.parent);
  while (sequence !== undefined && sequence.parent !== null) {
    const owner = m.element(sequence.parent) as ElementNode;
    if (sequence.id === `${owner.id}/try/do`) {
      const { retry, catch: catches = [] } = m.step(owner.id).try ?? {};
      if (retry !== undefined && mayRetry(retry, owner, type)) return true;
      if (catches.some(({ on }) => fits(on, type))) return true;
    }
    sequence = m.sequence(owner.parent);
  }
  return false;
}

const fits = (on: readonly string[] | undefined, type: string) => on === undefined || on.includes(type);
const mayRetry = (retry: Retry, { retries = 0 }: ElementNode, type: string) =>
  fits(retry.on, type) && retries < retry.limit;

function handle(m: Machine, owner: ElementNode, sequence: SequenceNode, error: StepError): boolean {
  const { retry, catch: catches = [] } = m.step(owner.id).try ?? {};
  if (retry !== undefined && mayRetry(retry, owner, error.type)) {
    cancelSequence(m, sequence, 'cancelled');
    owner.retries = (owner.retries ?? 0) + 1;
    const waitMs = delayMs(retry, owner.retries);
    m.note('decision', owner.id, 'retry', { retry: owner.retries, waitMs });
    if (waitMs === 0) startList(m, sequence.id, owner.id, owner.stage);
    else
      schedule(m, owner, 'retry', owner.retries, {
        dueAt: new Date(m.nowMs + waitMs).toISOString(),
        unit: 'wall',
      });
    return true;
  }
  const caught = catches.findIndex(({ on }) => fits(on, error.type));
  if (caught < 0) return false;
  cancelSequence(m, sequence, 'cancelled');
  owner.error = error;
  m.note('decision', owner.id, 'caught', { catch: caught });
  startList(m, `${owner.id}/try/catch/${caught}/do`, owner.id, owner.stage);
  return true;
}

/** The delay before a retry, which is numbered from 1. With `exponential` it doubles each time, up to `maxDelay`. */
function delayMs({ delay, backoff, maxDelay }: Retry, retry: number): number {
  const waitMs = durationMs(delay) * (backoff === 'exponential' ? 2 ** (retry - 1) : 1);
  return maxDelay === undefined ? waitMs : Math.min(waitMs, durationMs(maxDelay));
}

/**
 * Ends all open elements without a separate outcome. A stage whose last step is done is completed; any other is
 * terminated.
 */
export function endAll(m: Machine, outcome: ExitOutcome): void {
  const done = findDoneStages(m);
  for (const node of m.elements()) if (m.state.nodes[node.id] !== undefined) cancelElement(m, node, outcome);
  for (const [id, node] of Object.entries(m.state.nodes))
    if (node.kind === 'sequence') delete m.state.nodes[id];
  for (const { id } of m.definition.spec.stages) {
    const stage = m.state.stages[id];
    if (stage?.state !== 'active' && stage?.state !== 'available') continue;
    if (stage.state === 'active') m.tell('process.stage_exited', { stage: id });
    stage.state = done.has(id) ? 'completed' : 'terminated';
  }
  for (const timer of Object.values(m.state.timers))
    if (timer.state === 'pending' || timer.state === 'frozen') timer.state = 'cancelled';
  m.ready.splice(0);
  m.state.queued = [];
}

/**
 * The active stages whose last step is done. Within one input, a list can end before the engine processes its end. If
 * something else then ends the instance, such as a `complete` step, these stages are still completed.
 */
function findDoneStages(m: Machine): ReadonlySet<string> {
  const [lists, steps] = [m.sequences(), m.elements()];
  const isListDone = ({ id, at }: SequenceNode): boolean => {
    const length = m.definition.lists.get(id)?.length ?? 0;
    const open = steps.find(({ parent }) => parent === id);
    return open === undefined ? at >= length : at === length - 1 && isStepDone(open);
  };
  const isStepDone = ({ id, undoing = [] }: ElementNode): boolean => {
    const inner = lists.filter(({ parent }) => parent === id);
    if (inner.length === 0 || undoing.length > 0) return false;
    return m.step(id).fork?.mode === 'compete' ? inner.some(isListDone) : inner.every(isListDone);
  };
  const active = Object.keys(m.state.stages).filter((id) => m.state.stages[id]?.state === 'active');
  const isStageDone = (id: string) =>
    lists.filter(({ stage, parent }) => stage === id && parent === null).every(isListDone);
  return new Set(active.filter(isStageDone));
}

export function failInstance(m: Machine, error: StepError, element: string): void {
  endAll(m, 'cancelled');
  m.state.status = 'failed';
  m.note('state', element, 'failed', { ...error });
  m.tell('process.failed', { error: { ...error }, element });
}

/**
 * Compensates in reverse order: runs the `onCompensate` steps of each element, only once even if several steps
 * compensate it concurrently.
 */
export function undoNext(m: Machine, node: ElementNode): void {
  m.current = node.id;
  for (let next = node.undoing?.pop(); next !== undefined; next = node.undoing?.pop()) {
    const { element, attempt, step } = next;
    const left = m.state.undoable.filter((one) => one.element !== element || one.attempt !== attempt);
    // In the meantime, another step has begun to compensate this element.
    if (left.length === m.state.undoable.length) continue;
    const list = `${element}/onCompensate`;
    const busy = m.sequence(list);
    if (busy !== undefined) {
      // An earlier attempt of the same step is still being compensated. The compensation that does so handles this
      // attempt next.
      if (busy.parent !== null) m.element(busy.parent)?.undoing?.push(next);
      continue;
    }
    node.undone = [...(node.undone ?? []), element];
    m.state.undoable = left;
    m.state.lastStep = step;
    return startList(m, list, node.id, node.stage);
  }
  const steps = node.undone ?? [];
  if (steps.length > 0) m.tell('process.compensated', { scope: 'step', steps });
  finish(m, node, steps);
}

export function payloadOfEntered(node: ElementNode): JsonObject {
  const { id: element, stage, stepKind, attempt, since, waitsFor, due } = node;
  return {
    element,
    stage,
    stepKind,
    attempt,
    activityId: node.activityId,
    enteredAt: since,
    waitsFor,
    taskId: node.taskId ?? null,
    approvalIds: (node.ballots ?? []).map(({ approvalId }) => approvalId),
    skillInvocationId: node.callId ?? null,
    childInstanceId: node.childId ?? null,
    due: due?.dueAt ?? null,
    warnAt: due?.warnAt ?? null,
    provisional: due?.provisional ?? false,
  };
}
