import { BenchError } from '../bench-error.ts';
import type { ClaimFixture } from '../claim/fixture.ts';
import { RawConnection } from '../claim/raw-connection.ts';

/** Agents with a session and a connection each. */
export interface Agents {
  readonly count: number;
  sessionOf(agent: number): string;
  /** Sends one request on the agent's own connection. @returns its status */
  send(agent: number, method: string, path: string, body?: object): Promise<number>;
  /** The body of a response, for the preparation of a measurement. @throws BenchError for an error response */
  ask(agent: number, path: string, body: object): Promise<any>;
  close(): Promise<void>;
}

export async function openAgents(port: number, { claimants }: ClaimFixture): Promise<Agents> {
  const sockets = await Promise.all(claimants.map(() => RawConnection.open(port)));
  const of = (agent: number) => claimants[agent] as ClaimFixture['claimants'][number];
  const base = `http://127.0.0.1:${port}/api/v1`;
  return {
    count: claimants.length,
    sessionOf: (agent) => of(agent).sessionId,
    send(agent, method, path, body) {
      const text = body === undefined ? '' : JSON.stringify(body);
      const head = [
        `${method} /api/v1${path} HTTP/1.1`,
        `host: 127.0.0.1:${port}`,
        `authorization: Bearer ${of(agent).token}`,
        ...(body === undefined
          ? []
          : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]),
      ];
      return (sockets[agent] as RawConnection).exchange(`${head.join('\r\n')}\r\n\r\n${text}`);
    },
    async ask(agent, path, body) {
      const headers = { authorization: `Bearer ${of(agent).token}`, 'content-type': 'application/json' };
      const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      if (!response.ok) throw new BenchError(`POST ${path} got ${response.status}.`);
      return response.json();
    },
    close: async () => sockets.forEach((socket) => void socket.close()),
  };
}
