const firstWaitMs = 100;
const longestWaitMs = 10_000;
/** The longest delay of a timer; a longer one fires at once. */
const timerMsMax = 2 ** 31 - 1;

/** Waits until the delay has passed or the signal is aborted. @throws the signal's reason */
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

/**
 * The wait before the next attempt, in ms: 100 doubling to 10,000, times 0.5 to 1 at random; at least what the service
 * requires.
 */
export function backoffMs(attempt: number, askedMs = 0): number {
  const ms = Math.min(firstWaitMs * 2 ** (attempt - 1), longestWaitMs);
  return Math.max(ms * (0.5 + Math.random() / 2), askedMs);
}

/**
 * Returns the result of `work`, or stops waiting for it. The work itself continues, because others may wait for it too.
 * @throws the signal's reason if it is aborted first
 */
export function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** A signal that is aborted at a deadline, or with the caller's signal. */
export class TimeLimit {
  readonly signal: AbortSignal;
  /** Whether the deadline has passed. */
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

  /** Moves the deadline to this long from now. */
  allow(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.isOver = true;
        this.#controller.abort(new Error('the deadline has passed'));
        this.end();
      },
      Math.min(Math.max(Math.ceil(ms), 1), timerMsMax),
    );
    // The deadline's timer must not keep the process alive; the pending request does that.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Frees the timer and removes the listener on the caller's signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onAbort);
  }
}
