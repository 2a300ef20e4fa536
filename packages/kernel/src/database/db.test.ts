import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../testing/database/database.ts';
import { doorMigrations, doorTenant } from '../testing/door/door-service.ts';
import { createPool, isUnreachable, type Pool, queryBuilder, sqlState, violatedConstraint } from './db.ts';
import { compiled, sql } from './sql.ts';

let database: TestDatabase;
let pool: Pool;
const lost: Error[] = [];

function poolOf(url: string, changes: Partial<Parameters<typeof createPool>[0]> = {}): Pool {
  return createPool({
    url,
    connectionsMax: 3,
    applicationName: 'test',
    statementTimeoutMs: 5000,
    lockTimeoutMs: 5000,
    idleInTransactionTimeoutMs: 5000,
    connectTimeoutMs: 10_000,
    onError: (error) => lost.push(error),
    ...changes,
  });
}

before(async () => {
  database = await createTestDatabase(doorMigrations);
  pool = poolOf(database.url);
});
after(async () => {
  await pool.close();
  await database.drop();
});
beforeEach(() => pool.run(sql`delete from doors`));

const id = '0190b2c4-7e1f-7a2b-8c3d-4e5f60718293';
const insert = () => sql`insert into doors (id, tenant_id, label) values (${id}, ${doorTenant}, 'x')`;
const count = async () => (await pool.rows(sql`select from doors`)).length;

test('values have their wire form: timestamps are text, 64-bit integers and decimals are numbers', async () => {
  const row = await pool.row(sql`
    select timestamptz '2026-11-21 12:00:00.1+02' as at, 9007199254740991::bigint as big, 1.5::numeric as decimal,
      null::timestamptz as nothing, array['a'] as list, '{"a": 1}'::jsonb as document, date '0001-01-01' is null as no`);
  assert.deepEqual(row, {
    at: '2026-11-21T10:00:00.100Z',
    big: 9007199254740991,
    decimal: 1.5,
    nothing: null,
    list: ['a'],
    document: { a: 1 },
    no: false,
  });
});

test('a transaction commits when its work resolves and rolls back when it throws', async () => {
  await pool.transaction((tx) => tx.run(insert()));
  assert.equal(await count(), 1);
  await assert.rejects(
    pool.transaction(async (tx) => {
      await tx.run(sql`delete from doors`);
      throw new Error('changed my mind');
    }),
    /changed my mind/,
  );
  assert.equal(await count(), 1);
});

test('a COMMIT that rolls back is an error', async () => {
  await assert.rejects(
    pool.transaction(async (tx) => {
      await tx.run(insert());
      await tx.run(sql`select 1 / 0`).catch(() => undefined);
    }),
    /commit answered ROLLBACK/,
  );
  assert.equal(await count(), 0);
});

test('a connection lost between two statements fails only its transaction, as unreachable', async () => {
  await assert.rejects(
    pool.transaction(async (tx) => {
      const self = await tx.row<{ pid: number }>(sql`select pg_backend_pid() as pid`);
      await pool.run(sql`select pg_terminate_backend(${self?.pid})`);
      await new Promise((done) => setTimeout(done, 100));
      await tx.run(insert());
    }),
    isUnreachable,
  );
  assert.equal(await count(), 0);
});

test('an idle transaction is rolled back, and the pool stays usable', async () => {
  const impatient = poolOf(database.url, { idleInTransactionTimeoutMs: 100, connectionsMax: 1 });
  try {
    await assert.rejects(
      impatient.transaction(async (tx) => {
        await tx.run(insert());
        await new Promise((done) => setTimeout(done, 400));
      }),
      isUnreachable,
    );
    assert.equal(await count(), 0);
    assert.deepEqual(await impatient.row(sql`select 1 as one`), { one: 1 });
  } finally {
    await impatient.close();
  }
});

test('lost idle connections are reported and replaced', async () => {
  await Promise.all([pool.rows(sql`select pg_sleep(0.05)`), pool.rows(sql`select pg_sleep(0.05)`)]);
  const admin = await pool.connect();
  lost.length = 0;
  const ended = await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'test'`,
  );
  await admin.end();
  assert.ok(ended.rows.length > 0);
  // Waits until every end has been detected; otherwise the next statement could get a connection that has ended.
  while (lost.length < ended.rows.length) await new Promise((done) => setTimeout(done, 20));
  assert.ok(lost.every(isUnreachable));
  assert.deepEqual(await pool.row(sql`select 1 as one`), { one: 1 });
});

test('a database that is down, missing or closed is unreachable; a wrong statement is another error', async () => {
  for (const url of ['postgresql://nobody@127.0.0.1:1/nothing', 'postgresql://x@localhost/x?host=/nowhere']) {
    const down = poolOf(url);
    await assert.rejects(down.rows(sql`select 1`), isUnreachable, url);
    await down.close();
  }
  const closed = poolOf(database.url);
  await closed.close();
  await assert.rejects(closed.rows(sql`select 1`), isUnreachable);
  await assert.rejects(
    closed.transaction(async () => undefined),
    isUnreachable,
  );
  await assert.rejects(
    pool.rows(sql`select nonsense`),
    (error) => !isUnreachable(error) && sqlState(error) === '42703',
  );
});

test('waiting for a connection ends after connectTimeoutMs', async () => {
  const narrow = poolOf(database.url, { connectionsMax: 1, connectTimeoutMs: 1500 });
  const busy = narrow.rows(sql`select pg_sleep(2.5)`);
  await assert.rejects(narrow.rows(sql`select 1`), isUnreachable);
  await busy;
  await narrow.close();
});

test('the violated unique constraint is named', async () => {
  await pool.run(insert());
  await assert.rejects(pool.run(insert()), (error) => violatedConstraint(error) === 'doors_pkey');
});

test('values in a template are parameters, never SQL', async () => {
  const hostile = `'; drop table doors; --`;
  await pool.run(sql`insert into doors (id, tenant_id, label) values (${id}, ${doorTenant}, ${hostile})`);
  assert.deepEqual(await pool.row(sql`select label from doors where label = ${hostile}`), { label: hostile });
});

test('a query of the query builder runs like a template', async () => {
  await pool.run(insert());
  const query = queryBuilder<{ doors: { id: string; label: string } }>()
    .selectFrom('doors')
    .select('label')
    .where('id', '=', id);
  assert.deepEqual(await pool.rows(compiled(query)), [{ label: 'x' }]);
});

test('a statement planned while its table was empty uses the index', async () => {
  const narrow = poolOf(database.url, { connectionsMax: 1 });
  await narrow.run(sql`create table rooms (id integer primary key, label text)`);
  await narrow.run(sql`analyze rooms`);
  await narrow.run(sql`set plan_cache_mode = force_generic_plan`);
  const plan = () => narrow.rows<{ 'QUERY PLAN': string }>(sql`explain execute find_room (1)`);
  await narrow.run(sql`prepare find_room (integer) as select label from rooms where id = $1`);
  const text = (await plan()).map((line) => line['QUERY PLAN']).join('\n');
  await narrow.close();
  assert.match(text, /rooms_pkey/);
});
