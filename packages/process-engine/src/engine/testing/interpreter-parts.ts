import type { Given, StepSpec } from './random-definitions.ts';

/** The parts of the reference interpreter of processes. */

export type Message =
  | { readonly is: 'done'; readonly result: Given; readonly status?: string }
  | { readonly is: 'voters'; readonly principals: readonly string[] }
  | { readonly is: 'vote'; readonly principal: string; readonly vote: 'approved' | 'rejected' | 'left' }
  | { readonly is: 'left'; readonly principal: string }
  | { readonly is: 'timeout' }
  | { readonly is: 'due'; readonly outcome: 'approved' | 'rejected' }
  | { readonly is: 'skip' };
/** A fiber pauses after each step, with the number of its list, or to wait for a message. */
export type Pause = number | 'wait';
export type Run<Result> = Generator<Pause, Result, Message>;

export interface Fiber {
  readonly stage: string | null;
  readonly name: string;
  readonly run: Run<void>;
  readonly ended: () => void;
  readonly failed: (error: unknown) => void;
  /** Whether the fiber is a branch of a fork. */
  readonly isBranch: boolean;
  /** The enclosing lists, the innermost last. */
  readonly lists: ListAt[];
  isOver: boolean;
}

export interface ListAt {
  /** Steps after the current one. */
  left: number;
  /** Null between two steps. */
  open: Open | null;
}

export interface TryFrame {
  readonly outer: TryFrame | null;
  catches(type: string): boolean;
}

export interface Place {
  readonly stage: string | null;
  readonly fiber: () => Fiber;
  readonly tries: TryFrame | null;
}

export interface Ballot {
  vote: 'pending' | 'approved' | 'rejected' | 'left';
  isAsked: boolean;
}

export interface Open {
  readonly id: string;
  readonly step: StepSpec;
  readonly place: Place;
  readonly attempt: number;
  waitsFor: string | null;
  slaState: string;
  isAnswered: boolean;
  isRefused: boolean;
  /** The votes of a step with approvals, by the voters' ids. */
  readonly ballots: Map<string, Ballot>;
  opens: (() => void) | null;
  closes: (() => void) | null;
  /** Of a fork. */
  branches: Fiber[];
  /** The elements still to be compensated, for a step that compensates. */
  undoing: Undo[];
}

export interface ModelTimer {
  readonly element: string;
  readonly purpose: string;
  readonly level: number;
  /** Null until the instant has been computed. */
  dueMs: number | null;
  /** The expression that returns the instant; null for a duration that is counted. */
  readonly at: (() => number | null) | null;
  remainingMs: number | null;
}

export type Undo = {
  readonly element: string;
  readonly steps: readonly StepSpec[];
  readonly stage: string | null;
};
