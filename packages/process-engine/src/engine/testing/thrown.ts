import type { StepSpec } from './random-definitions.ts';

/** The ways in which a list of steps ends early in the interpreter. */

export class Raised extends Error {
  readonly type: string;
  /** The remaining steps of the outermost list that the error has left, starting with the step that failed. */
  rest: readonly StepSpec[] = [];
  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

export class Completed extends Error {
  readonly outcome: string;
  /** The stages that still have work left at that moment. */
  readonly working: ReadonlySet<string | null>;
  constructor(outcome: string, working: ReadonlySet<string | null>) {
    super(outcome);
    this.outcome = outcome;
    this.working = working;
  }
}
