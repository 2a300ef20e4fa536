import { setTimeout as sleep } from 'node:timers/promises';
import { connections } from './fixture.ts';

/** Starts calls at an even pace, never more than 16 at once. */
export async function pace(perSecond: number, ms: number, call: (n: number) => Promise<void>): Promise<void> {
  const [began, underWay] = [performance.now(), new Set<Promise<void>>()];
  for (let n = 1; n <= (perSecond * ms) / 1000; n += 1) {
    const dueMs = began + (n * 1000) / perSecond;
    while (performance.now() < dueMs) await sleep(1);
    while (underWay.size >= connections) await Promise.race(underWay);
    const running: Promise<void> = call(n).finally(() => underWay.delete(running));
    underWay.add(running);
  }
  await Promise.all(underWay);
}
