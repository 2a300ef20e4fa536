import type { StepSpec } from './random-definitions.ts';

/** How a list of steps of the interpreter is left before its end. */

export class Raised extends Error {
  readonly type: string;
  /** The steps of the outermost list that it has left, from the one that it came out of. */
  rest: readonly StepSpec[] = [];
  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

export class Completed extends Error {
  readonly outcome: string;
  /** Whether nothing comes behind it in the lists that it leaves, nor beside it in forks. */
  isLast = true;
  constructor(outcome: string) {
    super(outcome);
    this.outcome = outcome;
  }
}
