import { randomUUID } from 'node:crypto';
import { BenchError } from './bench-error.ts';

/** Creates an object as identity's administrator: a POST to a path below `/api/v1`. @throws BenchError unless 201 */
export type AdminPost = (path: string, body: object) => Promise<Record<string, string>>;

/** @param port the port of identity on this machine */
export function identityAdmin(port: number, adminSecret: string): AdminPost {
  return async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method: 'POST',
      headers: {
        'x-iam-bootstrap-token': adminSecret,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new BenchError(`${path} got ${answer.status}.`);
    return (await answer.json()) as Record<string, string>;
  };
}
