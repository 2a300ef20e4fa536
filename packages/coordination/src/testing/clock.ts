import type { TestContext } from 'node:test';

/**
 * Stops the clocks of this process until the test ends: nothing that it remembers for a time, or pauses for, ends because
 * the machine is slow. The clock of the database goes on.
 * @returns moves them ahead
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
