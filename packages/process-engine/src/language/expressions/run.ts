import type { Pattern } from '@baton/values/json-schema/patterns';
import type { WorkingCalendar } from '../../calendars/working-calendar.ts';
import type { Meter, Value } from './values.ts';

/** The evaluation took more steps than `CP_CEL_COST_LIMIT`. */
export class CostExceeded extends Error {}

/** One evaluation: its variables, and its remaining cost. */
export class Run implements Meter {
  readonly roots: Readonly<Record<string, Value | undefined>>;
  /** The values of macros, by the slot that the compiler assigned. */
  readonly locals: Value[] = [];
  readonly calendarOf: CalendarLookup;
  /** Patterns whose compilation has already been charged. */
  readonly patterns = new Map<string, Pattern>();
  #stepsLeft: number;

  constructor(roots: Run['roots'], costLimit: number, calendarOf: CalendarLookup) {
    this.roots = roots;
    this.calendarOf = calendarOf;
    this.#stepsLeft = costLimit;
  }

  /** The remaining steps; 0 if the evaluation exceeded its limit. */
  get stepsLeft(): number {
    return Math.max(0, this.#stepsLeft);
  }

  /** @throws CostExceeded */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new CostExceeded();
  }
}

/** A calendar by its key, or that of the process for null; undefined if it doesn't exist. */
export type CalendarLookup = (key: string | null) => WorkingCalendar | undefined;
