const firstWaitMs = 100;
const longestWaitMs = 10_000;

/** Waits, and ends at once when the signal is aborted. @throws the signal's reason */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The wait before the next attempt, in ms: 100 doubling to 10,000, times 0.5 to 1 at random; at least what was asked. */
export function backoffMs(attempt: number, askedMs = 0): number {
  const ms = Math.min(firstWaitMs * 2 ** (attempt - 1), longestWaitMs);
  return Math.max(ms * (0.5 + Math.random() / 2), askedMs);
}
