import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { enterEpoch } from './epoch.ts';

let baton: TestCoordination;
let reader: Actor;

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());
/** Simulates a restart of the server: it started later than the epoch records. */
const restarted = () =>
  baton.pool.run(
    sql`update journal_epoch set server_started_at = pg_postmaster_start_time() - interval '1 day'`,
  );
beforeEach(restarted);

async function epochs() {
  return baton.pool.rows<{ first_position: number; previous_end: number; reason: string }>(
    sql`select first_position, previous_end, reason from journal_epochs order by first_position`,
  );
}

/** A pool whose connections check the epoch, like those of the service. */
function enteringPool(url = baton.databaseUrl): Pool {
  return createPool({
    url,
    connectionsMax: 4,
    applicationName: 'test',
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 10_000,
    async onConnect(db) {
      await enterEpoch(db);
    },
    onError: () => undefined,
  });
}

test('the first start records its server and leaves positions unchanged', async (t) => {
  const empty = await startCoordination();
  t.after(() => empty.close());
  const row = await empty.pool.row<{ position_offset: number; cluster: string; epochs: number }>(sql`
    select position_offset, cluster, (select count(*) from journal_epochs) as epochs from journal_epoch`);
  assert.equal(row?.position_offset, 0);
  assert.equal(row?.epochs, 0);
  assert.match(row?.cluster ?? '', /^\d+\/[0-9A-F]{8}$/);
});

for (const [what, change, reason] of [
  ['after a restart', sql`select`, 'restart'],
  ['in another cluster', sql`update journal_epoch set cluster = 'another/00000001'`, 'another_cluster'],
  [
    'after a promotion',
    sql`update journal_epoch set cluster = split_part(cluster, '/', 1) || '/00000099'`,
    'another_cluster',
  ],
  [
    'restored on the running server',
    sql`update journal_epoch set server_started_at = pg_postmaster_start_time(), table_number = 1`,
    'restored',
  ],
  [
    'in a copy of the database',
    sql`update journal_epoch set server_started_at = pg_postmaster_start_time(), database_number = 1`,
    'restored',
  ],
  ['when the operator requests it', sql`update journal_epoch set server_started_at = null`, 'requested'],
] as const)
  test(`${what} positions continue above all positions of any history of this database`, async () => {
    await writeEvents(baton.pool, baton.tenantId, [{}]);
    const before = (await epochs()).length;
    await restarted();
    await baton.pool.run(change);
    const pool = enteringPool();
    await pool.row(sql`select 1`);
    await pool.close();
    const all = await epochs();
    assert.equal(all.length, before + 1);
    assert.equal(all.at(-1)?.reason, reason);
    const secondsOf2026 = (Date.now() - Date.parse('2026-01-01')) / 1000;
    assert.ok((all.at(-1)?.first_position as number) >= (secondsOf2026 - 10) * 2 ** 20);
  });

test("epochs in short succession are as far apart as the clock, so positions can't repeat", async () => {
  const starts: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    await restarted();
    await writeEvents(baton.pool, baton.tenantId, [{}]);
    starts.push((await epochs()).at(-1)?.first_position as number);
  }
  const secondsOf2026 = (Date.now() - Date.parse('2026-01-01')) / 1000;
  assert.ok((starts.at(-1) as number) <= (secondsOf2026 + 10) * 2 ** 20);
  assert.ok(starts.every((start, n) => n === 0 || start > (starts[n - 1] as number)));
});

test('a statement that assigns a position starts the epoch if no new connection did', async () => {
  await baton.pool.row(sql`select 1`);
  await restarted();
  const before = (await epochs()).length;
  const writing = Array.from({ length: 5 }, () => writeEvents(baton.pool, baton.tenantId, [{}, {}]));
  const ids = (await Promise.all(writing)).flat();
  const all = await epochs();
  assert.equal(all.length, before + 1, 'once, however many statements write concurrently');
  const lowest = await baton.pool.row<{ position: number }>(
    sql`select min(position) as position from events where id = any (${ids}::uuid[])`,
  );
  assert.ok((lowest?.position as number) >= (all.at(-1)?.first_position as number));
});

test('a command that was running when the epoch began writes inside the epoch', async () => {
  const ids = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select pg_current_xact_id()`);
    // Other transactions begin and end in the meantime.
    await writeEvents(baton.pool, baton.tenantId, [{}]);
    await restarted();
    return writeEvents(tx, baton.tenantId, [{}]);
  });
  const row = await baton.pool.row<{ position: number }>(
    sql`select position from events where id = any (${ids}::uuid[])`,
  );
  assert.ok((row?.position as number) >= ((await epochs()).at(-1)?.first_position as number));
});

test('many processes that start at once raise the offset once, and no event of the writers is skipped', async () => {
  await writeEvents(baton.pool, baton.tenantId, [{}]);
  await journalIsStable(baton.pool);
  const { nextCursor } = (await reader.get('/events?tail=1')).body;
  const top = (
    await baton.pool.row<{ top: number }>(sql`select greatest(max(position), 0) as top from events`)
  )?.top as number;

  const written: string[] = [];
  let writing = true;
  let isStable = false;
  const writers = Array.from({ length: 4 }, async () => {
    while (writing) {
      await baton.pool.transaction(async (tx) => {
        // The transaction gets its id before the offset is raised, but may write its event afterwards.
        await tx.run(sql`select pg_current_xact_id()`);
        written.push(...(await writeEvents(tx, baton.tenantId, [{}])));
      });
    }
  });
  const seen: string[] = [];
  const reading = (async () => {
    let cursor = nextCursor as string;
    for (let isOver = false; !isOver; ) {
      const allCanBeRead = isStable;
      const { body } = await reader.get(`/events?limit=200&cursor=${cursor}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
      isOver = allCanBeRead && body.items.length === 0;
      await new Promise((done) => setTimeout(done, 5));
    }
  })();
  await new Promise((done) => setTimeout(done, 100));
  await restarted();
  const starters = Array.from({ length: 8 }, () => enteringPool());
  await Promise.all(starters.map((pool) => pool.row(sql`select 1`)));
  await new Promise((done) => setTimeout(done, 100));
  writing = false;
  await Promise.all(writers);
  // A transaction in any database of the cluster holds the horizon back, and with it the last events.
  await journalIsStable(baton.pool);
  isStable = true;
  await reading;
  await Promise.all(starters.map((pool) => pool.close()));

  const begun = (await epochs()).filter(({ first_position }) => first_position > top);
  assert.equal(begun.length, 1, 'raised once');
  const missed = written.filter((id) => !seen.includes(id));
  assert.deepEqual([missed.length, new Set(seen).size], [0, seen.length]);
});

test('a restart is detected even if the cluster cannot be read', async (t) => {
  const role = `baton_plain_${process.pid}`;
  const run = (text: string) => baton.pool.run({ text, values: [] });
  await run(`create role ${role} login`);
  await run(`grant all on all tables in schema public to ${role}`);
  await run('revoke execute on function pg_control_system from public');
  const url = new URL(baton.databaseUrl);
  url.username = role;
  url.password = '';
  const pool = enteringPool(url.href);
  t.after(async () => {
    await pool.close();
    await run('grant execute on function pg_control_system to public');
    await run(`drop owned by ${role}`);
    await run(`drop role ${role}`);
  });
  const before = (await epochs()).length;
  await pool.row(sql`select 1`);
  assert.equal((await epochs()).length, before + 1);
  const again = enteringPool(url.href);
  await again.row(sql`select 1`);
  await again.close();
  assert.equal((await epochs()).length, before + 1, 'a second connection starts no other epoch');
});
