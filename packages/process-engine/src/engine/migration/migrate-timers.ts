import type { Due, Escalation } from '../../language/forms.ts';
import type { Step } from '../../language/step.ts';
import { activityId } from '../ids/activity-ids.ts';
import { durationMs, type Machine, ProcessFault } from '../machine.ts';
import { beginTimer } from '../stages.ts';
import type { Deadline, ElementNode, SlaState, Timer, TimerPurpose } from '../state.ts';
import { recallTimeout } from '../step-kinds.ts';
import {
  countDeadline,
  instantOf,
  isOpen,
  move,
  moveDeadlines,
  reportUncounted,
  schedule,
  unitOf,
  type When,
  warningInstant,
} from '../timers.ts';
import type { MigrationPlan } from './migration-plan.ts';

/**
 * Timers of an instance that migrates to a later version (docs/reference/processes.md#deadlines). Timers that both
 * versions define alike stay unchanged; all others are computed again, from the start of their step.
 */
export function retime(m: Machine, plan: MigrationPlan): void {
  nameTimers(m, plan);
  if (m.state.isStarted === false) return;
  // If the instance is suspended, new timers are frozen like the others.
  if (m.state.ending === null) {
    retimeDefined(m, plan);
    const { id, startedAt: since } = m.state;
    const owner = { id, before: id, since, attempt: 1, activityId: id, sla: m.state };
    retimeDue(m, plan, owner, plan.from.spec.due, plan.to.spec.due);
  }
  const names = new Map([...plan.from.steps.keys()].map((id) => [plan.stepOf(id), id]));
  for (const node of m.elements()) {
    m.current = node.id;
    retimeElement(m, plan, node, names.get(node.id) as string);
  }
  moveDeadlines(m);
}

function nameTimers(m: Machine, { became, stepOf, to }: MigrationPlan): void {
  for (const timer of Object.values(m.state.timers)) {
    if (timer.element === m.state.id) continue;
    const name = timer.purpose === 'timer' ? became(timer.element) : stepOf(timer.element);
    const isThere = name !== null && (timer.purpose !== 'timer' || to.timers.has(name));
    if (isThere) m.state.timers[timer.id] = { ...timer, element: name };
    else if (isOpen(timer)) timer.state = 'cancelled';
  }
}

/** Timers of the definition and of its active stages. New timers are started. */
function retimeDefined(m: Machine, { from, to, became }: MigrationPlan): void {
  const names = new Map([...from.timers.keys()].map((id) => [became(id), id]));
  for (const [id, { timer, stage }] of to.timers) {
    m.current = id;
    const before = from.timers.get(names.get(id) ?? '')?.timer;
    const { state = null, attempt = 1 } = stage === null ? {} : (m.state.stages[stage] ?? {});
    const isCounting = stage === null ? !m.state.isInterrupted : state === 'active';
    if (before === undefined) {
      if (isCounting) beginTimer(m, timer, attempt);
      continue;
    }
    if (before.at === timer.at) continue;
    for (const one of Object.values(m.state.timers))
      if (one.element === id && one.purpose === 'timer' && isOpen(one))
        move(m, one, { dueAt: instantOf(m, timer.at), unit: 'instant' }, 'migrated');
  }
}

interface TimedOwner {
  readonly id: string;
  /** The owner's id in the earlier version. */
  readonly before: string;
  readonly since: string;
  readonly attempt: number;
  readonly activityId: string;
  /** The element or instance that has the deadline. */
  readonly sla: { due: Deadline | null; slaState: SlaState };
}

/** @returns whether it was computed again */
function retimeDue(
  m: Machine,
  { from, to }: MigrationPlan,
  owner: TimedOwner,
  before: Due | undefined,
  due: Due | undefined,
): boolean {
  if (countedBy(before, from.spec.calendar) === countedBy(due, to.spec.calendar)) return false;
  const { sla } = owner;
  const end = (state: SlaState) => {
    for (const purpose of ['due', 'warn'] as const) cancelTimer(m, owner.id, purpose, 0);
    sla.due = null;
    if (sla.slaState !== 'breached') sla.slaState = state;
    return true;
  };
  if (due === undefined) return end('none');
  try {
    const { dueAt, calendar, provisional } = countDeadline(m, due, Date.parse(owner.since));
    const unit = unitOf(due);
    const warnAt = warningInstant(due, dueAt);
    setTimer(m, owner, 'due', 0, { dueAt, unit, calendar, provisional });
    if (due.warnBefore === undefined) cancelTimer(m, owner.id, 'warn', 0);
    else setTimer(m, owner, 'warn', 0, { dueAt: warnAt, unit, calendar, provisional });
    const remainingUnit = unit === 'instant' ? 'wall' : unit;
    sla.due = { dueAt, warnAt, provisional, remainingSeconds: null, remainingUnit };
    if (sla.slaState === 'none' || sla.slaState === 'unknown') sla.slaState = 'ok';
    return true;
  } catch (error) {
    if (!(error instanceof ProcessFault)) throw error;
    reportUncounted(m, owner, error);
    return end('unknown');
  }
}

/** The inputs of a deadline's computation, including the default calendar. */
function countedBy(due: Due | undefined, usual: string | undefined): string | undefined {
  if (due === undefined) return undefined;
  const isOfCalendar = due.workdays !== undefined || due.workhours !== undefined;
  return JSON.stringify(isOfCalendar ? { ...due, calendar: due.calendar ?? usual } : due);
}

function retimeElement(m: Machine, plan: MigrationPlan, node: ElementNode, before: string): void {
  const [was, step] = [plan.from.steps.get(before) as Step, m.step(node.id)];
  const { id, since, attempt, activityId: activity } = node;
  const owner = { id, before, since, attempt, activityId: activity, sla: node };
  const isMoved = retimeDue(m, plan, owner, dueIn(was), dueIn(step));
  const [escalations, others] = [escalationsIn(step), escalationsIn(was)];
  for (let n = 0; n < Math.max(escalations.length, others.length); n += 1) {
    const [after, beforehand] = [escalations[n]?.after, others[n]?.after];
    if (JSON.stringify(after) === JSON.stringify(beforehand) && !(isMoved && after === 'due')) continue;
    retimeTo(m, owner, 'escalation', n + 1, after === undefined ? undefined : whenOf(m, node, after));
  }
  const [timeout, earlier] = [timeoutIn(step), timeoutIn(was)];
  if (timeout !== earlier && node.waitsFor !== 'steps')
    retimeTo(m, owner, 'timeout', 0, timeout === undefined ? undefined : afterBegin(node, timeout));
  if (step.wait !== undefined && JSON.stringify(step.wait) !== JSON.stringify(was.wait))
    retimeTo(m, owner, 'wait', 0, whenOf(m, node, step.wait));
}

const dueIn = ({ human, approve, call }: Step) => (human ?? approve ?? call)?.due;
const escalationsIn = ({ human, approve }: Step): readonly Escalation[] =>
  (human ?? approve)?.escalations ?? [];
const timeoutIn = ({ call, listen, recall }: Step) =>
  recall === undefined ? (call ?? listen)?.timeout : (recall.timeout ?? recallTimeout);

function afterBegin({ since }: ElementNode, duration: string): When {
  return { dueAt: new Date(Date.parse(since) + durationMs(duration)).toISOString(), unit: 'wall' };
}

/** Undefined if the escalation depends on a deadline that doesn't exist. */
function whenOf(m: Machine, node: ElementNode, after: Escalation['after']): When | undefined {
  if (typeof after === 'object') return { dueAt: instantOf(m, after.at), unit: 'instant' };
  if (after !== 'due') return afterBegin(node, after);
  const timer = Object.values(m.state.timers).find(
    (one) => one.element === node.id && one.purpose === 'due' && isOpen(one),
  );
  if (node.due === null) return undefined;
  return { dueAt: node.due.dueAt, unit: timer?.unit ?? 'wall', calendar: timer?.calendar ?? null };
}

function retimeTo(
  m: Machine,
  owner: TimedOwner,
  purpose: TimerPurpose,
  level: number,
  when: When | undefined,
): void {
  if (when === undefined) cancelTimer(m, owner.id, purpose, level);
  else setTimer(m, owner, purpose, level, when);
}

const isOne = (timer: Timer, element: string, purpose: TimerPurpose, level: number) =>
  timer.element === element && timer.purpose === purpose && timer.level === level;

function cancelTimer(m: Machine, element: string, purpose: TimerPurpose, level: number): void {
  for (const timer of Object.values(m.state.timers))
    if (isOne(timer, element, purpose, level) && isOpen(timer)) timer.state = 'cancelled';
}

/** Moves a timer, or sets it; a timer that has fired in this attempt does not fire again. */
function setTimer(m: Machine, owner: TimedOwner, purpose: TimerPurpose, level: number, when: When): void {
  const all = Object.values(m.state.timers).filter((timer) => isOne(timer, owner.id, purpose, level));
  const open = all.find(isOpen);
  if (open !== undefined) {
    const { unit, calendar = null } = when;
    // A frozen timer stays frozen, with its new remaining time.
    const moved: Timer = { ...open, state: 'pending', remainingSeconds: null, unit, calendar };
    m.state.timers[open.id] = moved;
    return move(m, moved, when, 'migrated');
  }
  const ids = [owner.before, owner.id].map((id) =>
    activityId(m.state.id, id, owner.attempt, `${purpose}/${level}`),
  );
  const hasFired = all.some(
    ({ id, state, dueAt }) => state === 'fired' && (ids.includes(id) || (dueAt ?? '') >= owner.since),
  );
  if (!hasFired) schedule(m, owner, purpose, level, when);
}
