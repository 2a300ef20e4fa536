import { fail } from '../errors.ts';

export interface GuessBounds {
  readonly max: number;
  readonly windowSeconds: number;
  readonly keysMax: number;
}

/**
 * Limits how often one person may guess in this process. Unlike the failure limits it can't be switched off, because a
 * code that people type is short.
 */
export class GuessLimit {
  readonly #bounds: GuessBounds;
  readonly #windows = new Map<string, { guesses: number; endsMs: number }>();

  constructor(bounds: GuessBounds) {
    this.#bounds = bounds;
  }

  /**
   * Counts a guess as wrong before it is compared, so that simultaneous ones are counted, too.
   * @returns a function that takes a right guess out of the count
   * @throws Refusal `rate_limited` after too many wrong guesses
   */
  take(key: string): () => void {
    this.#refuse(key);
    const window = this.#add(key);
    return () => {
      window.guesses -= 1;
      if (window.guesses === 0 && this.#windows.get(key) === window) this.#windows.delete(key);
    };
  }

  #refuse(key: string): void {
    const window = this.#windows.get(key);
    const leftMs = (window?.endsMs ?? 0) - performance.now();
    if (window === undefined || leftMs <= 0 || window.guesses < this.#bounds.max) return;
    const headers = { 'retry-after': String(Math.ceil(leftMs / 1000)) };
    fail('rate_limited', {}, { headers, reason: 'guesses of user codes' });
  }

  #add(key: string): { guesses: number } {
    const nowMs = performance.now();
    const { keysMax, windowSeconds } = this.#bounds;
    for (const [oldest, { endsMs }] of this.#windows) {
      if (endsMs > nowMs && this.#windows.size < keysMax) break;
      this.#windows.delete(oldest);
    }
    const window = this.#windows.get(key) ?? { guesses: 0, endsMs: nowMs + windowSeconds * 1000 };
    window.guesses += 1;
    this.#windows.set(key, window);
    return window;
  }
}
