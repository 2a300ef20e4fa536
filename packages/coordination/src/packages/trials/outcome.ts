import type { Json, JsonObject } from '@baton/values/wire';
import type { ExpectationKind } from './test-document.ts';

/** The outcome of a test step. */
export interface Outcome {
  /** The status of the instance, the evaluation or the task; null if none exists. */
  readonly status: string | null;
  /** Elements that are open. */
  readonly open?: readonly string[];
  readonly data?: JsonObject;
  readonly created: readonly Created[];
  readonly problems: readonly string[];
  readonly refused: string | null;
  /** Expectations that the step can't be checked against, because their effects are not simulated, and the reason. */
  readonly unknown?: { readonly names: readonly ExpectationKind[]; readonly why: string };
}

export interface Created {
  readonly kind: string;
  readonly [member: string]: Json;
}

/** A test uses a feature that is not simulated: the test ends as an error, never as passed. */
export class NotSimulated extends Error {}

/** A test or the whole call has exceeded its timeout. */
export class TimeOver extends Error {}

/** One act blocked the event loop for too long. */
export class ActTooLong extends Error {}

/**
 * The maximum time that one act may block the event loop; a single expression or schema may exceed it, but even then a
 * turn ends within 100 ms. An act of a typical process takes 1 ms.
 */
const actMsMax = 25;
/** Engine time of one test (docs/reference/packages.md#tests). */
const testMsMax = 2000;
/** The number of retries of an act that took too long; the machine may have been busy. */
const triesMax = 5;

/** Measures the time that the acts of a test take. */
export class EngineTime {
  readonly #callEndsAtMs: number;
  #spentMs = 0;
  #beganMs = 0;

  /** @param callEndsAtMs as measured by `performance.now()` */
  constructor(callEndsAtMs: number) {
    this.#callEndsAtMs = callEndsAtMs;
  }

  get spentMs(): number {
    return this.#spentMs;
  }

  /**
   * Runs an act that has no side effects before it completes, and yields to other work afterwards.
   * @throws TimeOver, NotSimulated
   */
  *run<T>(act: () => T): Generator<void, T> {
    for (let tries = 1; ; tries += 1) {
      if (this.#spentMs > testMsMax) throw new TimeOver(`the test takes more than ${testMsMax / 1000} s`);
      if (performance.now() > this.#callEndsAtMs) throw new TimeOver('the call has used up its time');
      this.#beganMs = performance.now();
      try {
        return act();
      } catch (error) {
        if (!(error instanceof ActTooLong)) throw error;
        if (tries === triesMax)
          throw new TimeOver(`one act takes more than ${actMsMax} ms of the engine`, { cause: error });
      } finally {
        this.#spentMs += performance.now() - this.#beganMs;
        yield;
      }
    }
  }

  /** Call this often during an act. @throws ActTooLong */
  readonly check = (): void => {
    if (performance.now() - this.#beganMs > actMsMax) throw new ActTooLong();
  };
}
