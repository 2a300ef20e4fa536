import { randomUUID } from 'node:crypto';
import { BenchError } from './bench-error.ts';

/** What identity makes for its administrator: a path below `/api/v1`, and a body. @throws BenchError unless it is 201 */
export type AdminPost = (path: string, body: object) => Promise<Record<string, string>>;

/** @param port of an identity on this machine */
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
    if (answer.status !== 201) throw new BenchError(`${path} was answered with ${answer.status}.`);
    return (await answer.json()) as Record<string, string>;
  };
}
