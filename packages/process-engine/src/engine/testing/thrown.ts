import type { StepSpec } from './random-definitions.ts';

/** The ways in which a list of steps ends early in the interpreter. */

export class Raised extends Error {
  readonly type: string;
  /** The remaining steps of the outermost list that it has left, starting with the step that it left. */
  rest: readonly StepSpec[] = [];
  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

export class Completed extends Error {
  readonly outcome: string;
  /** The stages that then have work left. */
  readonly working: ReadonlySet<string | null>;
  constructor(outcome: string, working: ReadonlySet<string | null>) {
    super(outcome);
    this.outcome = outcome;
    this.working = working;
  }
}
