import type { Json, JsonObject } from '@baton/values/wire';
import type { ExpectationKind } from './test-document.ts';

/** What a step of a test has led to. */
export interface Outcome {
  /** Of the instance, the evaluation or the task; null where there is none. */
  readonly status: string | null;
  /** Elements that are open. */
  readonly open?: readonly string[];
  readonly data?: JsonObject;
  readonly created: readonly Created[];
  readonly problems: readonly string[];
  readonly refused: string | null;
  /** What a step must not expect anything of, because it is not simulated, and why. */
  readonly unknown?: { readonly names: readonly ExpectationKind[]; readonly why: string };
}

export interface Created {
  readonly kind: string;
  readonly [member: string]: Json;
}

/** A test asks for what is not simulated: it ends as an error, never as passed. */
export class NotSimulated extends Error {}

/** A test, or the whole call, has used up the time that it has. */
export class TimeOver extends Error {}

/** One act took longer than the event loop may be held. */
export class ActTooLong extends Error {}

/**
 * How long one act may hold the event loop; a single expression or schema may go on beyond it, so that a turn ends within
 * 100 ms. An act of a usual process takes 1 ms.
 */
const actMsMax = 25;
/** Of the engine, for one test (docs/reference/packages.md#tests). */
const testMsMax = 2000;
/** How often an act that took too long is done again: the machine may have been busy with something else. */
const triesMax = 5;

/** Counts the time that the acts of a test take. */
export class EngineTime {
  readonly #callEndsAtMs: number;
  #spentMs = 0;
  #beganMs = 0;

  /** @param callEndsAtMs by `performance.now()` */
  constructor(callEndsAtMs: number) {
    this.#callEndsAtMs = callEndsAtMs;
  }

  get spentMs(): number {
    return this.#spentMs;
  }

  /** Does an act that has no effect until it is done, and lets others go on after it. @throws TimeOver, NotSimulated */
  *run<T>(act: () => T): Generator<void, T> {
    for (let tries = 1; ; tries += 1) {
      if (this.#spentMs > testMsMax) throw new TimeOver(`the test takes more than ${testMsMax / 1000} s`);
      if (performance.now() > this.#callEndsAtMs) throw new TimeOver('the time of the call was over');
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

  /** Call it often while an act is done. @throws ActTooLong */
  readonly check = (): void => {
    if (performance.now() - this.#beganMs > actMsMax) throw new ActTooLong();
  };
}
