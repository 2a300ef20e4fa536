import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceMs = 5;

/**
 * Takes steps, and lets others run whenever it has held the event loop for 5 ms.
 * @param steps what does the work; it yields wherever others may run
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
