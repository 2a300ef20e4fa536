import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sent } from './matrix-client.ts';

/** What the calls of one caller took, and how they ended. */
export interface Calls {
  readonly ms: number[];
  /** How often which status; 0 for a connection that broke. */
  readonly statuses: Map<number, number>;
}

export interface LoadOptions {
  readonly url: string;
  readonly hostile: readonly Sent[];
  /** Connections of the hostile caller, each with a request under way. */
  readonly parallel: number;
  readonly ordinary: readonly Sent[];
  readonly lastsMs: number;
  /** Fewer calls of the bystander say nothing: slow ones make the load last longer, up to 15 s. */
  readonly samplesMin?: number;
}

const ordinaryAtOnce = 2;
const pauseMs = 2;
const lastsMsMax = 15_000;

/** Sends hostile requests without a pause, and beside them the ordinary ones. Afterwards nothing is under way. */
export async function runLoad({ url, hostile, parallel, ordinary, lastsMs, samplesMin = 12 }: LoadOptions) {
  const startedAt = performance.now();
  const [theirs, bystander] = [newCalls(), newCalls()];
  const agent = new Agent({ keepAlive: true });
  let isOver = false;
  const attack = async (worker: number) => {
    for (let at = worker; !isOver && hostile.length > 0; at += 1)
      await send(url, agent, hostile[at % hostile.length] as Sent, theirs);
  };
  const live = async (worker: number) => {
    for (let at = worker; !isOver; at += 1) {
      await send(url, ordinaryAgent, ordinary[at % ordinary.length] as Sent, bystander);
      const passedMs = performance.now() - startedAt;
      isOver ||= passedMs > lastsMsMax || (passedMs > lastsMs && bystander.ms.length >= samplesMin);
      await sleep(pauseMs);
    }
  };
  const ordinaryAgent = new Agent({ keepAlive: true });
  const attacks = Array.from({ length: parallel }, (_, worker) => attack(worker));
  await Promise.all(Array.from({ length: ordinaryAtOnce }, (_, worker) => live(worker)));
  const hostileCalls = { ms: [...theirs.ms], statuses: new Map(theirs.statuses) };
  agent.destroy();
  ordinaryAgent.destroy();
  await Promise.all(attacks);
  return { hostile: hostileCalls, bystander };
}

function newCalls(): Calls {
  return { ms: [], statuses: new Map() };
}

/** Sends one request, reads the answer without keeping it, and never fails. */
function send(url: string, agent: Agent, { method, path, headers, body }: Sent, calls: Calls): Promise<void> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const done = (status: number) => {
      calls.ms.push(performance.now() - startedAt);
      calls.statuses.set(status, (calls.statuses.get(status) ?? 0) + 1);
      resolve();
    };
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const outgoing = request(`${url}${path}`, { method, agent, headers: { ...length, ...headers } });
    let status = 0;
    outgoing.on('error', () => undefined);
    outgoing.on('response', (response) => {
      status = response.statusCode ?? 0;
      response.on('error', () => undefined);
      response.resume();
    });
    outgoing.on('close', () => done(status));
    outgoing.end(body);
  });
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
