import type { TestContext } from 'node:test';

/**
 * Stops `Date.now` and `performance.now` in this process until the test ends, so that caches and pauses don't expire on
 * a slow machine. Timers and the database's clock continue.
 * @returns advances both clocks
 */
export function stopClock({ mock }: TestContext): (ms: number) => void {
  let [wallMs, steadyMs] = [Date.now(), performance.now()];
  mock.method(Date, 'now', () => wallMs);
  mock.method(performance, 'now', () => steadyMs);
  return (ms) => {
    wallMs += ms;
    steadyMs += ms;
  };
}
