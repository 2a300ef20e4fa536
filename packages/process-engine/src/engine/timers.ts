import {
  addWorkdays,
  addWorkingTime,
  CalendarFault,
  isProvisional,
  workdaysBetween,
  workingTimeBetween,
} from '../calendars/working-time.ts';
import type { Due } from '../language/forms.ts';
import { activityId } from './ids/activity-ids.ts';
import { durationMs, type Machine, ProcessFault } from './machine.ts';
import type { Deadline, ProcessState, Timer, TimerPurpose, TimeUnit } from './state.ts';

/** Timers of an instance, and the arithmetic of deadlines (docs/reference/processes.md#deadlines). */

/** How many timers that have fired or were cancelled remain in the state; the oldest are removed. */
const endedKeptMax = 50;
/** PostgreSQL can't store later instants. */
const lastMs = Date.UTC(9999, 0, 1);

export interface When {
  readonly dueAt: string | null;
  readonly unit: TimeUnit;
  readonly calendar?: string | null;
  readonly provisional?: boolean;
}

interface TimerOwner {
  readonly id: string;
  readonly attempt: number;
}

/** Sets a timer. If it has no instant yet, it waits until it gets one. */
export function schedule(
  m: Machine,
  owner: TimerOwner,
  purpose: TimerPurpose,
  level: number,
  { dueAt, unit, calendar = null, provisional = false }: When,
): Timer {
  const id = activityId(m.state.id, owner.id, owner.attempt, `${purpose}/${level}`);
  const element = owner.id;
  const timer: Timer = {
    id,
    element,
    purpose,
    level,
    dueAt: dueAt === null ? null : inReach(Date.parse(dueAt)),
    state: 'pending',
    provisional,
    remainingSeconds: null,
    unit,
    calendar,
  };
  m.state.timers[id] = timer;
  m.note('timer', element, `${purpose} set`, { timerId: id, dueAt: timer.dueAt });
  forgetEnded(m);
  return timer;
}

function inReach(atMs: number): string {
  if (!(atMs < lastMs)) throw new ProcessFault('expression_error', 'a timer is due after the year 9998');
  return new Date(atMs).toISOString();
}

function forgetEnded({ state }: Machine): void {
  const ended = Object.values(state.timers).filter(({ state: is }) => is === 'fired' || is === 'cancelled');
  for (const { id } of ended.slice(0, Math.max(0, ended.length - endedKeptMax))) delete state.timers[id];
}

export function isOpen({ state }: Timer): boolean {
  return state === 'pending' || state === 'frozen';
}

/**
 * The order of timers that are due at the same instant: first those that report that something is late, then those that
 * react to it.
 */
const purposesInOrder: readonly TimerPurpose[] = [
  'warn',
  'due',
  'escalation',
  'retry',
  'wait',
  'timeout',
  'timer',
];

/**
 * The timers that are due by an instant, in the order in which they fire: the earliest first. At the same instant the
 * warning comes first, then the breach, then escalations by level, then all others.
 */
export function dueTimersOf({ timers }: Pick<ProcessState, 'timers'>, at: string): Timer[] {
  return Object.values(timers)
    .filter(({ state, dueAt }) => state === 'pending' && dueAt !== null && dueAt <= at)
    .sort((one, other) => compare(orderOf(one), orderOf(other)));
}

function orderOf({ dueAt, purpose, level, id }: Timer): readonly [string, number, number, string] {
  return [dueAt as string, purposesInOrder.indexOf(purpose), level, id];
}

function compare(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  const n = one.findIndex((part, at) => part !== other[at]);
  return n < 0 ? 0 : (one[n] as string) < (other[n] as string) ? -1 : 1;
}

export function cancelTimersOf(m: Machine, element: string): void {
  for (const timer of Object.values(m.state.timers))
    if (timer.element === element && isOpen(timer)) timer.state = 'cancelled';
}

/** The instant that an expression returns; null if it returns null. @throws ProcessFault for any other value */
export function instantOf(m: Machine, text: string): string | null {
  const value = m.evaluate(text);
  if (value === null) return null;
  const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(atMs)) throw new ProcessFault('expression_error', 'the expression must yield an instant');
  return inReach(atMs);
}

/**
 * Starts the deadline of a step or of the instance: its instant, its warning, and their timers. If it can't be
 * computed, the failure is reported and the instance continues without it.
 */
export function beginDeadline(
  m: Machine,
  owner: TimerOwner & { activityId: string },
  due: Due,
): Deadline | null {
  const unit = unitOf(due);
  const remainingUnit = unit === 'instant' ? 'wall' : unit;
  try {
    const counted = countDeadline(m, due, m.nowMs);
    const { dueAt, calendar, provisional } = counted;
    const warnAt = warningInstant(due, dueAt);
    schedule(m, owner, 'due', 0, { dueAt, unit, calendar, provisional });
    if (due.warnBefore !== undefined)
      schedule(m, owner, 'warn', 0, { dueAt: warnAt, unit, calendar, provisional });
    return { dueAt, warnAt, provisional, remainingSeconds: null, remainingUnit };
  } catch (error) {
    if (!(error instanceof ProcessFault)) throw error;
    reportUncounted(m, owner, error);
    return null;
  }
}

/** A deadline can't be computed: the instance continues without it. */
export function reportUncounted(
  m: Machine,
  { id, attempt, activityId: activity }: TimerOwner & { activityId: string },
  { code, message: reason }: ProcessFault,
): void {
  m.tell('process.sla_failed', {
    scope: id === m.state.id ? 'process' : 'step',
    element: id === m.state.id ? null : id,
    attempt,
    activityId: activity,
    error: { code, reason },
  });
  m.note('timer', id, 'sla_failed', { code, reason });
}

export function warningInstant({ warnBefore }: Due, dueAt: string | null): string | null {
  if (warnBefore === undefined || dueAt === null) return null;
  return new Date(Date.parse(dueAt) - durationMs(warnBefore)).toISOString();
}

/** How the time of a deadline is counted. */
export function unitOf(due: Due): TimeUnit {
  if (due.at !== undefined) return 'instant';
  if (due.duration !== undefined) return 'wall';
  return due.workdays === undefined ? 'working_seconds' : 'workdays';
}

/** @throws ProcessFault calendar_missing, calendar_without_hours, calendar_scan_limit, or a fault of the expression */
export function countDeadline(
  m: Machine,
  due: Due,
  fromMs: number,
): { dueAt: string | null; calendar: string | null; provisional: boolean } {
  if (due.at !== undefined) return { dueAt: instantOf(m, due.at), calendar: null, provisional: false };
  if (due.duration !== undefined)
    return { dueAt: inReach(fromMs + durationMs(due.duration)), calendar: null, provisional: false };
  const key = due.calendar ?? m.definition.spec.calendar ?? null;
  const amount = due.workdays ?? (due.workhours as number) * 3600;
  const unit = due.workdays === undefined ? 'working_seconds' : 'workdays';
  const counted = later(m, key, fromMs, amount, unit);
  return { ...counted, calendar: key };
}

/** The instant this many working days or working seconds later. */
function later(m: Machine, key: string | null, fromMs: number, amount: number, unit: TimeUnit) {
  const calendar = calendarOf(m, key);
  return withCalendar(() => {
    const atMs =
      unit === 'workdays'
        ? addWorkdays(calendar, fromMs, amount)
        : addWorkingTime(calendar, fromMs, Math.round(amount * 1000));
    return { dueAt: new Date(atMs).toISOString(), provisional: isProvisional(calendar, fromMs, atMs) };
  });
}

function calendarOf(m: Machine, key: string | null) {
  const calendar = key === null ? undefined : m.tools.calendar(key);
  if (calendar === undefined) throw new ProcessFault('calendar_missing', `no calendar is named ${key ?? ''}`);
  return calendar;
}

function withCalendar<T>(count: () => T): T {
  try {
    return count();
  } catch (error) {
    if (error instanceof CalendarFault) throw new ProcessFault(error.code, 'the calendar can not compute it');
    throw error;
  }
}

/** The remaining time of a timer at suspension, in the timer's unit. */
export function freeze(m: Machine): void {
  for (const timer of Object.values(m.state.timers)) {
    if (timer.state !== 'pending') continue;
    timer.state = 'frozen';
    timer.remainingSeconds = timer.dueAt === null ? null : remainingOf(m, timer, Date.parse(timer.dueAt));
  }
  for (const owner of deadlineOwners(m)) {
    const timer = timerOf(m, owner.id, 'due');
    if (owner.due !== null && timer?.state === 'frozen') owner.due.remainingSeconds = timer.remainingSeconds;
  }
}

/** Seconds of wall time or of working time, or whole working days; negative if the instant has passed. */
function remainingOf(m: Machine, { unit, calendar: key }: Timer, dueMs: number): number {
  if (unit === 'wall' || unit === 'instant') return (dueMs - m.nowMs) / 1000;
  const calendar = calendarOf(m, key);
  return withCalendar(() =>
    unit === 'workdays'
      ? workdaysBetween(calendar, m.nowMs, dueMs)
      : workingTimeBetween(calendar, m.nowMs, dueMs) / 1000,
  );
}

/** Resumes frozen timers: counted time continues from now, a fixed instant stays unchanged. */
export function thaw(m: Machine): void {
  for (const timer of Object.values(m.state.timers)) {
    if (timer.state !== 'frozen') continue;
    timer.state = 'pending';
    const { remainingSeconds: left, dueAt: before } = timer;
    timer.remainingSeconds = null;
    if (left === null || timer.unit === 'instant') continue;
    move(m, timer, movedTo(m, timer, left, before), 'resumed');
  }
  moveDeadlines(m);
}

function movedTo(m: Machine, { unit, calendar }: Timer, left: number, before: string | null): When {
  // A timer that was overdue when it was frozen stays overdue.
  if (left <= 0) return { dueAt: before, unit };
  if (unit === 'wall') return { dueAt: inReach(m.nowMs + left * 1000), unit };
  return { ...later(m, calendar, m.nowMs, left, unit), unit };
}

type Cause = 'data_changed' | 'calendar_changed' | 'resumed' | 'migrated';

export function move(
  m: Machine,
  timer: Timer,
  { dueAt, provisional = timer.provisional }: When,
  cause: Cause,
  changedFields: readonly string[] | null = null,
): void {
  if (timer.dueAt === dueAt && timer.provisional === provisional) return;
  const previousDueAt = timer.dueAt;
  timer.dueAt = dueAt;
  timer.provisional = provisional;
  const { id: timerId, element } = timer;
  m.note('timer', element, cause, { timerId, previousDueAt, dueAt });
  m.tell('process.timer_rescheduled', {
    timerId,
    element,
    previousDueAt,
    dueAt,
    provisional,
    cause,
    changedFields: changedFields && [...changedFields],
  });
}

/** The open timer of an element, or of the instance. */
export function timerOf(m: Machine, element: string, purpose: TimerPurpose): Timer | undefined {
  return Object.values(m.state.timers).find(
    (timer) => timer.element === element && timer.purpose === purpose && isOpen(timer),
  );
}

/** The objects that can have deadlines: the instance and its open steps. */
function deadlineOwners(m: Machine): { readonly id: string; due: Deadline | null }[] {
  return [m.state, ...m.elements()];
}

/** Updates the deadlines from their timers. */
export function moveDeadlines(m: Machine): void {
  for (const owner of deadlineOwners(m)) {
    const { due } = owner;
    if (due === null) continue;
    const [timer, warning] = [timerOf(m, owner.id, 'due'), timerOf(m, owner.id, 'warn')];
    if (timer !== undefined) {
      due.dueAt = timer.dueAt;
      due.provisional = timer.provisional;
      due.remainingSeconds = timer.remainingSeconds;
    }
    if (warning !== undefined) due.warnAt = warning.dueAt;
  }
}

/** Computes deadlines again for a new version of a calendar, from the start of each deadline. */
export function recount(m: Machine, key: string): void {
  const { spec } = m.definition;
  const owners = [
    { id: m.state.id, since: m.state.startedAt, due: spec.due },
    ...m.elements().map((node) => ({ id: node.id, since: node.since, due: dueOf(m, node.id) })),
  ];
  for (const { id, since, due } of owners) {
    const timer = timerOf(m, id, 'due');
    if (due === undefined || timer === undefined || timer.calendar !== key || timer.state !== 'pending')
      continue;
    const { dueAt, provisional } = countDeadline(m, due, Date.parse(since));
    move(m, timer, { dueAt, unit: timer.unit, provisional }, 'calendar_changed');
    const warning = timerOf(m, id, 'warn');
    if (warning !== undefined)
      move(
        m,
        warning,
        { dueAt: warningInstant(due, dueAt), unit: warning.unit, provisional },
        'calendar_changed',
      );
  }
  moveDeadlines(m);
}

export function dueOf(m: Machine, element: string): Due | undefined {
  const { human, approve, call } = m.step(element);
  return (human ?? approve ?? call)?.due;
}
