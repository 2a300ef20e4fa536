import { encodeCursor } from '@baton/coordination/ledger/journal/cursor';
import { findEveryEventForward } from '@baton/coordination/ledger/journal/events.sql';
import { insertEvents } from '@baton/coordination/ledger/journal/journal.sql';
import { newId } from '@baton/values/ids';
import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import { connections, type JournalFixture, type JournalTenant } from './fixture.ts';
import type { Way } from './rounds.ts';

/** Connections that each send one request at a time. */
export type Sockets = readonly RawConnection[];

export const openSockets = (port: number): Promise<Sockets> =>
  Promise.all(Array.from({ length: connections }, () => RawConnection.open(port)));

export const pageEvents = 200;
const batchEvents = 100;
const scanMax = 50_000;
const noFilter = {
  typePatterns: null,
  entityType: null,
  entityId: null,
  actorId: null,
  workspaceId: null,
  viewerId: null,
};

/** An event as `POST /tasks` writes it. */
export function draft() {
  const requestId = `req_${newId()}`;
  return {
    id: newId(),
    type: 'task.created',
    schema_version: 1,
    entity_type: 'task',
    entity_id: newId(),
    workspace_id: null,
    actor_id: newId(),
    iam_actor_id: newId(),
    session_id: null,
    correlation_id: requestId,
    causation_id: null,
    request_id: requestId,
    trace_run_id: requestId,
    payload: { publicId: 'T-1', title: 'bench', status: 'todo', typeKey: 'task', priority: 'medium' },
  };
}

/** Writes one event by a change over the API. */
export function overApi(sockets: Sockets, port: number, { token }: JournalTenant): Way {
  const request = requestTo(port, token, 'POST', '/tasks', { title: 'bench' });
  return {
    name: 'POST /tasks',
    eventsPerCall: 1,
    async call(connection) {
      const status = await (sockets[connection] as RawConnection).exchange(request);
      if (status !== 201) throw new BenchError(`POST /tasks got ${status}.`);
    },
  };
}

/** The service's own statement for events and their outbox rows, without a change of state, each in its transaction. */
export function bySql({ pool }: JournalFixture, { tenantId }: JournalTenant, count: number): Way {
  return {
    name: `bare SQL, ${count} at once`,
    eventsPerCall: count,
    call: async () =>
      void (await pool.run(insertEvents(tenantId, Array.from({ length: count }, draft), true))),
  };
}

export const writers = (
  sockets: Sockets,
  port: number,
  fixture: JournalFixture,
  tenant: JournalTenant,
): Way[] => [overApi(sockets, port, tenant), bySql(fixture, tenant, 1), bySql(fixture, tenant, batchEvents)];

/** Pages of 200 from cursors distributed over the journal. */
export function readers(
  sockets: Sockets,
  port: number,
  { pool }: JournalFixture,
  tenant: JournalTenant,
  name: string,
): [overHttp: Way, bare: Way] {
  let turn = 0;
  const nextPlace = () => {
    turn += 1;
    return tenant.places[(turn * 7) % tenant.places.length] as JournalTenant['places'][number];
  };
  return [
    {
      name: `page of ${name}, over HTTP`,
      eventsPerCall: pageEvents,
      async call(connection) {
        const path = `/events?limit=${pageEvents}&cursor=${encodeCursor(nextPlace())}`;
        const status = await (sockets[connection] as RawConnection).exchange(
          requestTo(port, tenant.token, 'GET', path),
        );
        if (status !== 200) throw new BenchError(`GET /events got ${status}.`);
      },
    },
    {
      name: `page of ${name}, bare driver`,
      eventsPerCall: pageEvents,
      async call() {
        const rows = await pool.rows(
          findEveryEventForward({
            tenantId: tenant.tenantId,
            from: nextPlace(),
            afterSequence: 0,
            filter: noFilter,
            rowsMax: pageEvents + 1,
            scanMax,
            asksHeldBack: false,
          }),
        );
        if (rows.length !== pageEvents + 1) throw new BenchError(`A page had ${rows.length} rows.`);
      },
    },
  ];
}

function requestTo(port: number, token: string, method: string, path: string, body?: object): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [
    `${method} /api/v1${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${text.length}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
