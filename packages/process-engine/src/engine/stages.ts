import type { Stage, Timer } from '../language/definition.ts';
import type { Due } from '../language/forms.ts';
import { discretionaryList } from './definition-lists.ts';
import { completeInstance, continueCancel, suspendForOperator } from './endings.ts';
import { type Machine, ProcessFault } from './machine.ts';
import { cancelSequence, runReady, startList } from './sequences.ts';
import type { StageState } from './state.ts';
import {
  cancelTimersOf,
  dueOf,
  instantOf,
  isOpen,
  move,
  moveDeadlines,
  schedule,
  warningInstant,
} from './timers.ts';

/** Stages, milestones, and the completion of an instance (docs/reference/processes.md#language). */

const roundsMax = 1000;

/**
 * Executes all consequences of an input: runs lists, evaluates stages, and ends the instance when everything is done.
 */
export function settle(m: Machine): void {
  for (let round = 0; round < roundsMax; round += 1) {
    runReady(m);
    if (m.stalled !== null) return suspendForOperator(m, m.stalled);
    if (m.state.status !== 'running') return;
    m.current = null;
    if (m.areTimersStale) moveTimers(m);
    if (m.state.ending !== null) continueCancel(m);
    else if (m.state.isStarted === false) return;
    else {
      handleQueued(m);
      if (!judgeStages(m)) completeWhenDone(m);
    }
    if (m.state.status !== 'running' || m.ready.length === 0) return;
  }
  throw new ProcessFault('too_many_steps', 'stages begin each other without end');
}

/** Passes the events that arrived while their handler was running to those handlers that have since ended. */
function handleQueued(m: Machine): void {
  const waiting = m.state.queued;
  m.state.queued = [];
  for (const one of waiting) {
    if (m.sequence(one.handler) === undefined) {
      m.event = one.event;
      startList(m, one.handler, null, null);
    } else m.state.queued.push(one);
  }
}

/**
 * @returns whether any stage changed
 */
function judgeStages(m: Machine): boolean {
  for (let round = 0, changed = false; round < roundsMax; round += 1, changed = false) {
    for (const [n, stage] of m.definition.spec.stages.entries()) {
      const is = m.state.stages[stage.id] as StageState;
      judgeMilestones(m, stage, is);
      if (is.state === 'active')
        changed = beginDiscretionary(m, stage, is) || leaveIfDone(m, stage) || changed;
      else changed = enterIfWanted(m, stage, is, n) || changed;
    }
    if (!changed) return m.ready.length > 0;
  }
  throw new ProcessFault('too_many_steps', 'stages begin each other without end');
}

function judgeMilestones(m: Machine, { id: stage, milestones }: Stage, { state }: StageState): void {
  if (state !== 'active') return;
  for (const { id: milestone, when } of milestones) {
    m.current = milestone;
    const [before, now] = [m.state.milestones[milestone] === true, m.holds(when)];
    if (before === now) continue;
    m.state.milestones[milestone] = now;
    m.note('state', milestone, now ? 'reached' : 'lost');
    m.tell(now ? 'process.milestone_reached' : 'process.milestone_lost', { milestone, stage });
  }
}

/** Begins the discretionary steps of an active stage whose `when` holds; each begins only once. */
function beginDiscretionary(m: Machine, stage: Stage, is: StageState): boolean {
  let hasBegun = false;
  if (stage.discretionary.length === 0 || (stage.exit !== undefined && m.holds(stage.exit))) return false;
  for (const { id, when } of stage.discretionary) {
    if (is.begun?.includes(id) === true) continue;
    m.current = id;
    if (when === undefined || !m.holds(when)) continue;
    m.count();
    is.begun = [...(is.begun ?? []), id];
    startList(m, discretionaryList(id), null, stage.id);
    hasBegun = true;
  }
  return hasBegun;
}

function leaveIfDone(m: Machine, stage: Stage): boolean {
  m.current = stage.id;
  const open = m.sequences().filter((sequence) => sequence.stage === stage.id);
  const isOver = open.length === 0 || (stage.exit !== undefined && m.holds(stage.exit));
  if (!isOver) return false;
  for (const sequence of open)
    if (m.sequence(sequence.id) !== undefined) cancelSequence(m, sequence, 'withdrawn');
  const is = m.state.stages[stage.id] as StageState;
  judgeMilestones(m, stage, is);
  is.state = 'completed';
  for (const { id } of stage.timers) cancelTimersOf(m, id);
  m.note('state', stage.id, 'completed');
  m.tell('process.stage_exited', { stage: stage.id });
  return true;
}

/** A repeatable stage begins again when its entry becomes true again. */
function enterIfWanted(m: Machine, stage: Stage, is: StageState, index: number): boolean {
  m.current = stage.id;
  if (m.state.isInterrupted) return false;
  const isNew = is.state === 'available';
  if (!isNew && !(stage.repeatable && stage.entry !== undefined)) return false;
  const holds = stage.entry === undefined ? followsOn(m, index) : m.holds(stage.entry);
  const isWanted = holds && (isNew || !is.entryHeld);
  is.entryHeld = holds;
  if (!isWanted) return false;
  m.count();
  is.state = 'active';
  is.attempt += 1;
  delete is.begun;
  m.note('state', stage.id, 'entered', { attempt: is.attempt });
  m.tell('process.stage_entered', { stage: stage.id });
  for (const timer of stage.timers) beginTimer(m, timer, is.attempt);
  startList(m, `stage/${stage.id}`, null, stage.id);
  return true;
}

function followsOn(m: Machine, index: number): boolean {
  const before = m.definition.spec.stages[index - 1];
  return before === undefined || m.state.stages[before.id]?.state === 'completed';
}

/**
 * The instance is completed when nothing is open and each stage has ended. It waits for a stage that could still begin,
 * because events or timers may change the data.
 */
function completeWhenDone(m: Machine): void {
  const stages = Object.values(m.state.stages);
  if (m.sequences().length > 0 || stages.some(({ state }) => state === 'active')) return;
  const waits = stages.some(({ state }) => state === 'available') && mayChange(m);
  if (!waits) completeInstance(m, null);
}

function mayChange({ state, definition }: Machine): boolean {
  if (state.isInterrupted) return false;
  return (
    definition.handlers.length > 0 ||
    Object.values(state.timers).some((timer) => timer.purpose === 'timer' && isOpen(timer))
  );
}

/** Starts a timer of the definition, or of a stage that begins. */
export function beginTimer(m: Machine, { id, at }: Timer, attempt: number): void {
  schedule(m, { id, attempt }, 'timer', 0, { dueAt: instantOf(m, at), unit: 'instant' });
}

/** Computes instants from expressions again: the data that they read may have changed. */
function moveTimers(m: Machine): void {
  m.areTimersStale = false;
  const changedFields = [...new Set(m.changedFields)];
  const isOfData = changedFields.length > 0;
  for (const timer of Object.values(m.state.timers)) {
    if (timer.state !== 'pending' || timer.unit !== 'instant') continue;
    const text = expressionOf(m, timer.element, timer.purpose, timer.level);
    if (text === undefined) continue;
    m.current = timer.element;
    const instant = instantOf(m, text);
    const due = timer.purpose === 'warn' ? deadlineOf(m, timer.element) : undefined;
    const dueAt = due === undefined ? instant : warningInstant(due, instant);
    const [cause, fields] = isOfData
      ? (['data_changed', changedFields] as const)
      : (['resumed', null] as const);
    move(m, timer, { dueAt, unit: 'instant' }, cause, fields);
  }
  moveDeadlines(m);
}

function deadlineOf(m: Machine, element: string): Due | undefined {
  return element === m.state.id ? m.definition.spec.due : dueOf(m, element);
}

/** The expression that determines a timer's instant; for a warning, the expression of the deadline. */
function expressionOf(m: Machine, element: string, purpose: string, level: number): string | undefined {
  if (purpose === 'timer') return m.definition.timers.get(element)?.timer.at;
  if (purpose === 'due' || purpose === 'warn') return deadlineOf(m, element)?.at;
  const { wait, human, approve } = m.step(element);
  if (purpose === 'wait') return typeof wait === 'object' ? wait.at : undefined;
  const after = (human ?? approve)?.escalations[level - 1]?.after;
  if (after === 'due') return (human ?? approve)?.due?.at;
  return typeof after === 'object' ? after.at : undefined;
}
