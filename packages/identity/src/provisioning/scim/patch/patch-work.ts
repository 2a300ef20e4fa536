import { fail } from '../../errors.ts';

/**
 * The budget of one PATCH, in steps. A step is the comparison of one element with one term of a filter, or the copying
 * of one element of a list; a long string counts as one more step per 256 characters. The whole budget takes 15 to 50
 * ms of CPU time, during which nothing else runs in this process.
 */
const patchStepsMax = 50_000;
const charactersPerStep = 256;

/** The remaining work that one PATCH may still cause. */
export class PatchWork {
  #stepsLeft = patchStepsMax;

  /** @throws Refusal `scim_too_many` when the PATCH has used up its budget */
  spend(steps: number, characters = 0): void {
    this.#stepsLeft -= steps + Math.floor(characters / charactersPerStep);
    if (this.#stepsLeft < 0) fail('scim_too_many');
  }
}
