import { Agent } from 'node:http';
import { parentPort } from 'node:worker_threads';
import type { Sent } from '../matrix/matrix-client.ts';
import { type Calls, newCalls, send } from './liveness-calls.ts';

/**
 * The hostile caller runs in a separate thread, so that its own computation isn't measured as the bystander's latency.
 */

/** Starts a load. The next message of any kind ends it, and its reply contains the results of the calls. */
export interface Attack {
  readonly url: string;
  readonly hostile: readonly Sent[];
  /** The number of connections, each with a pending request. */
  readonly parallel: number;
}

let end: (() => Promise<Calls>) | undefined;

parentPort?.on('message', async (attack: Attack | 'end') => {
  if (attack === 'end') {
    const calls = await end?.();
    parentPort?.postMessage(calls);
  } else end = begin(attack);
});

/**
 * @returns a function that ends the load and returns the calls made until then; afterwards no request is pending
 */
function begin({ url, hostile, parallel }: Attack): () => Promise<Calls> {
  const agent = new Agent({ keepAlive: true });
  const calls = newCalls();
  let isOver = false;
  const attack = async (worker: number) => {
    for (let at = worker; !isOver && hostile.length > 0; at += 1)
      await send(url, agent, hostile[at % hostile.length] as Sent, calls);
  };
  const attacks = Array.from({ length: parallel }, (_, worker) => attack(worker));
  return async () => {
    isOver = true;
    const counted = structuredClone(calls);
    agent.destroy();
    await Promise.all(attacks);
    return counted;
  };
}
