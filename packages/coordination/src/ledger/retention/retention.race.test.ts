import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { byDepth } from '@baton/testing/depth';
import { startWorker, type Worker } from '../../app/worker.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { until } from '../../testing/wait-until.ts';
import { type JournalPosition, parseCursor } from '../journal/cursor.ts';

/**
 * History is archived and pruned as fast as possible, in two tenants, while writers run, a consumer lags, two workers
 * move archived events, and connections are killed.
 */

/**
 * The test writes until enough events are archived and enough connections are killed, regardless of the load on the
 * machine.
 */
const writingMs = { min: byDepth(1000, 3000), max: 120_000 };
const enough = { archived: 100, pruned: 50, killed: 10 };
const log = createLog({ name: 'worker', level: 'silent' });
let baton: TestCoordination;
let pool: Pool;
let workers: Worker[];

before(async () => {
  baton = await startCoordination();
  workers = [await startWorker({ env: baton.env, log }), await startWorker({ env: baton.env, log })];
  pool = createPool({
    url: baton.databaseUrl,
    connectionsMax: 16,
    applicationName: 'writers',
    statementTimeoutMs: 30_000,
    lockTimeoutMs: 30_000,
    idleInTransactionTimeoutMs: 30_000,
    onError: () => undefined,
  });
});
after(async () => {
  for (const worker of workers) await worker.close();
  await pool.close();
  await baton.close();
});

interface Page {
  items: { id: string; cursor: string }[];
  nextCursor: string;
  hasMore: boolean;
}

/**
 * Reads the consumer's pages and confirms each some time later, like the context adapter; the journal must keep the
 * events that it has not confirmed.
 */
async function consume(
  reader: Actor,
  isOver: () => boolean,
  lag: { pauseMs: number; limit: number },
): Promise<string[]> {
  const seen: string[] = [];
  await pool.run(sql`
    insert into event_consumers (tenant_id, consumer) values (${reader.tenantId}, 'context-adapter')`);
  let cursor = '';
  for (let idle = 0; idle < 3; ) {
    const wasOver = isOver();
    const limit = wasOver ? 200 : lag.limit;
    const { status, body } = await reader.get(`/events?limit=${limit}${cursor}`);
    // The connection may have been killed a moment ago.
    if (status >= 500) continue;
    assert.equal(status, 200, `the consumer was refused: ${JSON.stringify(body)}`);
    const page = body as Page;
    seen.push(...page.items.map(({ id }) => id));
    await sleep(Math.random() * lag.pauseMs);
    const last = page.items.at(-1);
    if (last !== undefined) {
      const { position, sequence } = parseCursor(last.cursor) as JournalPosition;
      await pool.run(sql`
        update event_consumers set position = ${position}, sequence = ${sequence} where tenant_id = ${reader.tenantId}`);
      cursor = `&cursor=${page.nextCursor}`;
    }
    idle = wasOver && page.items.length === 0 ? idle + 1 : 0;
  }
  return seen;
}

/** Counts responses, except those that were lost because of a kill. */
async function putAway(
  operator: Actor,
  verb: 'archive' | 'prune',
  isOver: () => boolean,
  count: (events: number) => void,
): Promise<void> {
  while (!isOver()) {
    const body = { beforeSeconds: 0, maxEvents: 1 + Math.floor(Math.random() * 200) };
    const answer = await operator.post(`/operations/journal:${verb}`, body);
    assert.ok([200, 409, 500, 503].includes(answer.status), JSON.stringify(answer.body));
    if (answer.status === 200) count(answer.body.archived ?? answer.body.pruned);
    await sleep(Math.random() * 20);
  }
}

async function write(tenantId: string, isOver: () => boolean): Promise<void> {
  while (!isOver())
    await pool
      .transaction(async (tx) => {
        await writeEvents(tx, tenantId, [{}, {}]);
        await sleep(Math.random() * 20);
        await writeEvents(tx, tenantId, [{}]);
        if (Math.random() < 0.2) throw new Error('undone');
      })
      .catch((error: Error) => assert.equal(error.message, 'undone'));
}

/** Kills the connections that archive, prune, move or delete, while they do so. */
async function kill(isOver: () => boolean, count: (connections: number) => void): Promise<void> {
  while (!isOver()) {
    const rows = await pool.rows(sql<{ ended: boolean }>`
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and application_name not in ('writers', 'test') and random() < 0.5
        and query ~ 'for update|move_to_archive|delete_from_archive|update journal_floors|oldest_undelivered'`);
    count(rows.length);
    await sleep(Math.random() * 30);
  }
}

test('no event that a consumer needs is lost, and no tenant affects the history of another', async () => {
  const beganAt = performance.now();
  const done = { archived: 0, pruned: 0, killed: 0 };
  const isEnough = () =>
    (['archived', 'pruned', 'killed'] as const).every((what) => done[what] >= enough[what]);
  const writingIsOver = () => {
    const ms = performance.now() - beganAt;
    return ms > writingMs.max || (ms > writingMs.min && isEnough());
  };
  const count = (what: keyof typeof done) => (number: number) => {
    done[what] += number;
  };
  let allIsWritten = false;
  const tenants = [baton.tenantId, baton.otherTenantId];
  const of = (tenantId: string) => baton.actor({ tenantId });
  const actors = await Promise.all(tenants.map(of));
  const consuming = actors.map((actor, n) =>
    consume(actor, () => allIsWritten, n === 0 ? { pauseMs: 10, limit: 37 } : { pauseMs: 100, limit: 2 }),
  );
  const away = actors.flatMap((actor) => [
    putAway(actor, 'archive', writingIsOver, count('archived')),
    putAway(actor, 'prune', writingIsOver, count('pruned')),
  ]);
  const killing = kill(writingIsOver, count('killed'));
  await Promise.all(tenants.flatMap((tenantId) => [1, 2, 3].map(() => write(tenantId, writingIsOver))));
  await Promise.all([...away, killing]);
  await journalIsStable(baton.pool);
  allIsWritten = true;
  const consumed = await Promise.all(consuming);
  assert.ok(isEnough(), `too little: ${JSON.stringify(done)}`);
  // The workers delete pruned rows after the prune, so until then more rows exist than the prunes allow.
  for (const tenantId of tenants)
    await until(() => isSettled(tenantId), 'all archived and pruned rows to be moved and deleted');

  for (const [n, tenantId] of tenants.entries()) {
    const seen = consumed[n] as string[];
    assert.equal(new Set(seen).size, seen.length, 'an event came twice');
    const left = await baton.pool.rows<{ id: string }>(sql`
      select id from (
        select id, position, sequence from archived_events where tenant_id = ${tenantId}
        union all select id, position, sequence from events where tenant_id = ${tenantId}) journal
      order by position, sequence`);
    // The remaining events are the last of the consumed ones, in the same order: only the first ones were pruned.
    assert.deepEqual(
      seen.slice(seen.length - left.length),
      left.map(({ id }) => id),
    );
    const [sums] = await baton.pool.rows<{ pruned: number; archived: number }>(sql`
      select coalesce(sum((payload ->> 'pruned')::int), 0) as pruned,
        coalesce(sum((payload ->> 'archived')::int), 0) as archived
      from (select payload, tenant_id, type from events union all select payload, tenant_id, type from archived_events) e
      where tenant_id = ${tenantId} and type like 'event\_journal.%'`);
    assert.ok((sums?.pruned ?? 0) <= seen.length - left.length);
  }
});

async function isSettled(tenantId: string): Promise<boolean> {
  const row = await baton.pool.row<{ settled: boolean }>(sql`
    select (moved_position, moved_sequence) = (archive_position, archive_sequence)
      and (deleted_position, deleted_sequence) = (floor_position, floor_sequence) as settled
    from journal_floors where tenant_id = ${tenantId}`);
  return row?.settled === true;
}
