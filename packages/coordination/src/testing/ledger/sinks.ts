import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { newId } from '@baton/values/ids';
import { encodeCursor } from '../../ledger/journal/cursor.ts';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Sink } from '../../ledger/sinks/sink.ts';

export type Deliver = (event: JournalEvent, signal: AbortSignal) => Promise<void>;

/** A sink implemented by a function of the test. */
export function testSink(deliver: Deliver, more: Partial<Sink> = {}): Sink {
  return {
    name: 'test',
    filter: { tenants: null, typePatterns: null },
    concurrency: 200,
    timeoutMs: 10_000,
    deliver,
    close: () => Promise.resolve(),
    ...more,
  };
}

/** Deletes all deliveries and declared sinks: for tests that share a database. */
export async function emptyOutbox(db: Db): Promise<void> {
  await db.run(sql`delete from outbox`);
  await db.run(sql`delete from outbox_deliveries`);
  await db.run(sql`delete from outbox_sinks`);
}

/** A secret of a webhook that the leak test searches for. */
export function makeWebhookSecret(): string {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  keepSecret('webhook secret', secret);
  return secret;
}

export function sampleEvent(more: Partial<JournalEvent> = {}): JournalEvent {
  return {
    sequence: 17,
    id: newId(),
    tenantId: newId(),
    type: 'task.claimed',
    schemaVersion: 1,
    entityType: 'task',
    entityId: newId(),
    workspaceId: null,
    actorId: null,
    iamActorId: null,
    sessionId: null,
    correlationId: null,
    causationId: null,
    requestId: 'req_test',
    traceRunId: null,
    payload: { note: 'größer' },
    occurredAt: '2026-11-22T12:00:00.000Z',
    cursor: encodeCursor({ position: 4711, sequence: 17 }),
    ...more,
  };
}

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly body: string;
}

type Respond = (
  received: Received,
) => { status: number; headers?: Record<string, string>; body?: string } | undefined;

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The ids of the events in the bodies, including repeated ones. */
  ids(): string[];
  stop(): Promise<void>;
  /** Restarts the receiver on the same port. */
  start(): Promise<void>;
}

/** The receiver of a webhook. @param respond undefined for no response */
export async function startReceiver(respond: Respond = () => ({ status: 204 })): Promise<Receiver> {
  const received: Received[] = [];
  let server: Server | undefined;
  const port = Number(await freePort());
  const start = async () => {
    server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const one = {
          headers: request.headers,
          path: request.url ?? '',
          body: Buffer.concat(parts).toString(),
        };
        received.push(one);
        const answer = respond(one);
        if (answer !== undefined) response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    });
    const opened = server;
    await new Promise<void>((done) => opened.listen(port, '127.0.0.1', done));
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    ids: () => received.map(({ body }) => (JSON.parse(body) as { id: string }).id),
    start,
    async stop() {
      const closing = server;
      server = undefined;
      closing?.closeAllConnections();
      await new Promise<void>((done) => (closing === undefined ? done() : closing.close(() => done())));
    },
  };
}
