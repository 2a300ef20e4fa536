import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceMs = 5;

/**
 * Runs steps, and lets other work run whenever it has blocked the event loop for 5 ms. @param steps does the work, and
 * yields where other work may run
 */
export async function inSlices<T>(steps: Iterator<void, T>): Promise<T> {
  for (let since = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - since < sliceMs) continue;
    await nextTurn();
    since = performance.now();
  }
}
