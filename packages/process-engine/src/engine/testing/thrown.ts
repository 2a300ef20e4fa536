import type { StepSpec } from './random-definitions.ts';

/** The ways in which a list of steps ends early in the interpreter. */

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
  /** The stages that have work left then. */
  readonly working: ReadonlySet<string | null>;
  constructor(outcome: string, working: ReadonlySet<string | null>) {
    super(outcome);
    this.outcome = outcome;
    this.working = working;
  }
}
