import { insertClaim } from '@baton/coordination/execution/claims/claims.sql';
import { createPool } from '@baton/kernel/database/db';
import { newId } from '@baton/values/ids';
import { BenchError } from '../bench-error.ts';
import type { Claimant, ClaimFixture } from './fixture.ts';
import { RawConnection } from './raw-connection.ts';

/** One of the compared ways to claim. */
export interface Variant {
  readonly name: string;
  /** Claims one task on the connection with this number. */
  claim(connection: number): Promise<void>;
  close(): Promise<void>;
}

const leaseSeconds = 300;

/** `POST /tasks/{id}:claim` with a token, each agent on its own connection. */
export async function overHttp(port: number, fixture: ClaimFixture, connections: number): Promise<Variant> {
  const senders = await Promise.all(
    fixture.claimants.slice(0, connections).map(async (claimant) => ({
      socket: await RawConnection.open(port),
      rest: requestAfterTaskId(port, claimant),
    })),
  );
  return {
    name: 'over HTTP',
    async claim(connection) {
      const { socket, rest } = senders[connection] as (typeof senders)[number];
      const status = await socket.exchange(`POST /api/v1/tasks/${fixture.nextTaskId()}${rest}`);
      if (status !== 200) throw new BenchError(`A claim got ${status}.`);
    },
    close: async () => senders.forEach(({ socket }) => void socket.close()),
  };
}

/** The part of the request after the task's id, built once. */
function requestAfterTaskId(port: number, { token, sessionId }: Claimant): string {
  const body = JSON.stringify({ sessionId });
  const head = [
    ':claim HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** The service's own statement, sent by the driver without the service. */
export async function overBareDriver(
  databaseUrl: string,
  fixture: ClaimFixture,
  connections: number,
): Promise<Variant> {
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: connections,
    applicationName: 'baton-bench',
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  return {
    name: 'bare driver',
    async claim(connection) {
      const { principalId, iamPrincipalId, sessionId } = fixture.claimants[connection] as Claimant;
      const requestId = `req_${connection}`;
      const lease = await pool.row(
        insertClaim({
          tenantId: fixture.tenantId,
          principalId,
          iamPrincipalId,
          ref: { id: fixture.nextTaskId(), number: null },
          isEligible: false,
          sessionId,
          claimId: newId(),
          claimedEventId: newId(),
          expiredEventId: newId(),
          ttlSeconds: leaseSeconds,
          intent: '',
          correlationId: requestId,
          requestId,
          traceRunId: requestId,
          writesOutbox: true,
        }),
      );
      if (lease === undefined) throw new BenchError('The statement granted no claim.');
    },
    close: () => pool.close(),
  };
}
