import { type Agent, request } from 'node:http';
import type { Sent } from '../matrix/matrix-client.ts';

/** The durations and results of one caller's calls. */
export interface Calls {
  readonly ms: number[];
  /** The number of responses by status; 0 for a broken connection. */
  readonly statuses: Map<number, number>;
}

export function newCalls(): Calls {
  return { ms: [], statuses: new Map() };
}

/** Sends one request, reads the response without storing it, and never throws. */
export function send(
  url: string,
  agent: Agent,
  { method, path, headers, body }: Sent,
  calls: Calls,
): Promise<void> {
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
