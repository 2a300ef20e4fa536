const firstWaitMs = 100;
const longestWaitMs = 10_000;
/** Timers take no longer time: they would fire at once. */
const timerMsMax = 2 ** 31 - 1;

/** Waits, and ends at once when the signal is aborted. @throws the signal's reason */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(ms, timerMsMax),
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The wait before the next attempt, in ms: 100 doubling to 10,000, times 0.5 to 1 at random; at least what was asked. */
export function backoffMs(attempt: number, askedMs = 0): number {
  const ms = Math.min(firstWaitMs * 2 ** (attempt - 1), longestWaitMs);
  return Math.max(ms * (0.5 + Math.random() / 2), askedMs);
}

/**
 * What `work` comes to, or the end of the wait for it: work that others wait for, too, goes on.
 * @throws the signal's reason where it is aborted first
 */
export function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** A signal that is aborted when its time is over, or with the signal of the caller. */
export class TimeLimit {
  readonly signal: AbortSignal;
  /** Whether the time is over. */
  isOver = false;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.signal = this.#controller.signal;
    this.#outer = outer;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
    this.allow(ms);
  }

  /** So much time from now on, instead of what was left. */
  allow(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.isOver = true;
        this.#controller.abort(new Error('the time is over'));
        this.end();
      },
      Math.min(Math.max(Math.ceil(ms), 1), timerMsMax),
    );
    // What waits for an answer keeps the process alive, not the limit of that.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Frees the timer and forgets the signal of the caller. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onAbort);
  }
}
