import { once } from 'node:events';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Sent } from '../matrix/matrix-client.ts';
import type { Attack } from './liveness-attack.worker.ts';
import { type Calls, newCalls, send } from './liveness-calls.ts';

export interface LoadOptions extends Attack {
  readonly ordinary: readonly Sent[];
  readonly lastsMs: number;
  /**
   * If the bystander has made fewer calls, they prove nothing; if its calls are slow, the load is extended, up to 6 s.
   */
  readonly samplesMin?: number;
}

const ordinaryAtOnce = 2;
const pauseMs = 2;
const lastsMsMax = 6000;
let attacker: Worker | undefined;

/** Sends hostile requests without a pause, and ordinary ones at the same time. Afterwards no request is pending. */
export async function runLoad({ ordinary, lastsMs, samplesMin = 12, ...attack }: LoadOptions) {
  const { url } = attack;
  const worker = attacker ?? new Worker(join(import.meta.dirname, 'liveness-attack.worker.ts'));
  attacker = worker;
  worker.ref();
  worker.postMessage(attack);
  const startedAt = performance.now();
  const bystander = newCalls();
  let isOver = false;
  const live = async (caller: number) => {
    for (let at = caller; !isOver; at += 1) {
      await send(url, agent, ordinary[at % ordinary.length] as Sent, bystander);
      const passedMs = performance.now() - startedAt;
      isOver ||= passedMs > lastsMsMax || (passedMs > lastsMs && bystander.ms.length >= samplesMin);
      await sleep(pauseMs);
    }
  };
  const agent = new Agent({ keepAlive: true });
  await Promise.all(Array.from({ length: ordinaryAtOnce }, (_, caller) => live(caller)));
  worker.postMessage('end');
  const [hostile] = (await once(worker, 'message')) as [Calls];
  agent.destroy();
  worker.unref();
  return { hostile, bystander };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
