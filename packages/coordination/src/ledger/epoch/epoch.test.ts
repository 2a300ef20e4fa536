import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createPool, type Pool } from '@baton/kernel/db';
import { createLog } from '@baton/kernel/log';
import { sql } from '@baton/kernel/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/journal-writer.ts';
import { encodeCursor } from '../journal/cursor.ts';
import { enterEpoch, epochGap } from './epoch.ts';

let baton: TestCoordination;
let reader: Actor;

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());
beforeEach(() =>
  baton.pool.run(sql`update journal_epoch set position_offset = 0, cluster = 'another/00000001'`),
);

const log = createLog({ name: 'test', level: 'silent' });

async function epoch() {
  return (await baton.pool.row<{ position_offset: number; cluster: string }>(
    sql`select position_offset, cluster from journal_epoch`,
  )) as { position_offset: number; cluster: string };
}

/** A pool whose connections check the epoch as those of the service do. */
function enteringPool(url = baton.databaseUrl): Pool {
  return createPool({
    url,
    connectionsMax: 4,
    applicationName: 'test',
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 10_000,
    onConnect: (db) => enterEpoch(db, log),
    onError: () => undefined,
  });
}

test('the first start notes its cluster and leaves positions as they are', async () => {
  await baton.pool.run(sql`update journal_epoch set cluster = null`);
  const pool = enteringPool();
  await pool.row(sql`select 1`);
  const { position_offset, cluster } = await epoch();
  assert.equal(position_offset, 0);
  assert.match(cluster, /^\d+\/[0-9A-F]{8}$/);
  await pool.close();
});

test('in a cluster whose transaction ids start lower, new events follow every old cursor', async () => {
  // What a dump brings: events, and cursors in the hands of clients, far above the transactions of this cluster.
  await baton.pool.run(sql`
    insert into events (id, tenant_id, position, type, schema_version, entity_type, entity_id, payload)
    select gen_random_uuid(), ${baton.tenantId}, journal_position() + 1000000000 + n, 'session.opened', 1, 'session',
      gen_random_uuid(), '{}'
    from generate_series(1, 5) n`);
  const newest = await baton.pool.row<{ position: number; sequence: number }>(
    sql`select position, sequence from events order by position desc limit 1`,
  );
  const last = encodeCursor(newest as { position: number; sequence: number });
  const ahead = encodeCursor({ position: (newest?.position as number) + 500_000_000, sequence: 7 });

  const service = await baton.another();
  const get = async (path: string) => {
    const response = await fetch(`${service.url}/api/v1${path}`, {
      headers: { authorization: `Bearer ${reader.token}` },
    });
    return (await response.json()) as { items: { id: string }[] };
  };
  await get('/events');
  const written = await writeEvents(baton.pool, baton.tenantId, [{}, {}]);
  await journalIsStable(baton.pool);
  for (const cursor of [last, ahead]) {
    const { items } = await get(`/events?cursor=${cursor}`);
    assert.deepEqual(
      items.map(({ id }) => id),
      written,
    );
  }
  await service.close();
});

test('many processes that start at once raise the offset once, and no event of the writers is skipped', async () => {
  await writeEvents(baton.pool, baton.tenantId, [{}]);
  const { nextCursor } = (await reader.get('/events?tail=1')).body;
  const top = (
    await baton.pool.row<{ top: number }>(sql`select greatest(max(position), 0) as top from events`)
  )?.top as number;

  const written: string[] = [];
  let writing = true;
  const writers = Array.from({ length: 4 }, async () => {
    while (writing) {
      await baton.pool.transaction(async (tx) => {
        // An id before the offset is raised, an event perhaps after.
        await tx.run(sql`select pg_current_xact_id()`);
        written.push(...(await writeEvents(tx, baton.tenantId, [{}])));
      });
    }
  });
  const seen: string[] = [];
  const reading = (async () => {
    let cursor = nextCursor as string;
    for (let idle = 0; idle < 20; ) {
      const { body } = await reader.get(`/events?limit=200&cursor=${cursor}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
      idle = writing || body.items.length > 0 ? 0 : idle + 1;
      await new Promise((done) => setTimeout(done, 5));
    }
  })();
  await new Promise((done) => setTimeout(done, 100));
  const starters = Array.from({ length: 8 }, () => enteringPool());
  await Promise.all(starters.map((pool) => pool.row(sql`select 1`)));
  await new Promise((done) => setTimeout(done, 100));
  writing = false;
  await Promise.all(writers);
  await reading;
  await Promise.all(starters.map((pool) => pool.close()));

  const { position_offset } = await epoch();
  assert.ok(position_offset >= top + epochGap && position_offset < top + 1.5 * epochGap, 'raised once');
  const missed = written.filter((id) => !seen.includes(id));
  assert.deepEqual([missed.length, new Set(seen).size], [0, seen.length]);
});

test('where the cluster cannot be read, positions that run backwards are noticed all the same', async () => {
  const role = `baton_plain_${process.pid}`;
  const run = (text: string) => baton.pool.run({ text, values: [] });
  await run(`create role ${role} login`);
  await run(`grant all on all tables in schema public to ${role}`);
  await run('revoke execute on function pg_control_system from public');
  const url = new URL(baton.databaseUrl);
  url.username = role;
  url.password = '';
  const pool = enteringPool(url.href);

  await pool.row(sql`select 1`);
  const raised = (await epoch()).position_offset;
  assert.ok(raised >= epochGap, 'events lie above the transactions of this cluster');
  await pool.close();

  const again = enteringPool(url.href);
  await again.row(sql`select 1`);
  assert.equal((await epoch()).position_offset, raised, 'and once is enough');
  await again.close();
  await run('grant execute on function pg_control_system to public');
  await run(`drop owned by ${role}`);
  await run(`drop role ${role}`);
});
