import { fail } from '../../errors.ts';

/**
 * Comparisons that one PATCH may cost. A step is one element against one term of a filter, or one element of a list
 * that is copied; a long string counts as one more per 256 characters. The whole budget takes 15 to 50 ms of CPU
 * time, during which nothing else runs in this process.
 */
const patchStepsMax = 50_000;
const charactersPerStep = 256;

/** The remaining work that one PATCH may cause. */
export class PatchWork {
  #stepsLeft = patchStepsMax;

  /** @throws Refusal `scim_too_many` when the PATCH has used up its budget */
  spend(steps: number, characters = 0): void {
    this.#stepsLeft -= steps + Math.floor(characters / charactersPerStep);
    if (this.#stepsLeft < 0) fail('scim_too_many');
  }
}
