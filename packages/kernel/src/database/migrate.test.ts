import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../testing/database/database.ts';
import { DatabaseNewerError, MigrationChangedError, migrate, rehearseMigrations } from './migrate.ts';

const run = promisify(execFile);
let database: TestDatabase;
let directory: string;
let empty: string;

beforeEach(async () => {
  empty = await mkdtemp(join(tmpdir(), 'baton-empty-'));
  directory = await mkdtemp(join(tmpdir(), 'baton-migrations-'));
  database = await createTestDatabase(empty);
});
afterEach(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
  await rm(empty, { recursive: true });
});

const write = (file: string, text: string) => writeFile(join(directory, file), text);

async function query<Row>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

test('migrations are applied in order, once, and recorded', async () => {
  await write('0001_doors.sql', 'create table doors (id int); insert into doors values (1);');
  assert.deepEqual(await migrate(database.url, directory), { applied: [1], head: 1 });
  await write('0002_more.sql', 'insert into doors select 2 from doors;');
  await write('notes.txt', 'not a migration');
  assert.deepEqual(await migrate(database.url, directory), { applied: [2], head: 2 });
  assert.deepEqual(await migrate(database.url, directory), { applied: [], head: 2 });
  assert.deepEqual(await query('select id from doors order by 1'), [{ id: 1 }, { id: 2 }]);
  const ledger = await query<{ version: number; file: string }>(
    'select version, file from schema_migrations order by 1',
  );
  assert.deepEqual(ledger, [
    { version: 1, file: '0001_doors.sql' },
    { version: 2, file: '0002_more.sql' },
  ]);
});

const slow = 'select pg_sleep(0.3); create table doors (id int); insert into doors values (1);';

test('eight concurrent calls apply each migration once', async () => {
  await write('0001_doors.sql', slow);
  await write('0002_more.sql', 'insert into doors values (2);');
  const results = await Promise.all(Array.from({ length: 8 }, () => migrate(database.url, directory)));
  assert.deepEqual(results.flatMap(({ applied }) => applied).sort(), [1, 2]);
  assert.deepEqual(await query('select id from doors order by 1'), [{ id: 1 }, { id: 2 }]);
});

test('three concurrent processes apply each migration once', async () => {
  await write('0001_doors.sql', slow);
  const script = `import { migrate } from ${JSON.stringify(import.meta.resolve('./migrate.ts'))};
    console.log(JSON.stringify((await migrate(process.argv[1], process.argv[2])).applied));`;
  const processes = Array.from({ length: 3 }, () =>
    run(process.execPath, ['--input-type=module', '-e', script, database.url, directory]),
  );
  const outputs = (await Promise.all(processes)).map(({ stdout }) => stdout.trim()).sort();
  assert.deepEqual(outputs, ['[1]', '[]', '[]']);
});

test('when a migration fails, a waiting caller tries it too', async () => {
  await write('0001_doors.sql', 'select pg_sleep(0.2); select 1 / 0;');
  const results = await Promise.allSettled([
    migrate(database.url, directory),
    migrate(database.url, directory),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
});

test('a failed migration is rolled back and named, and runs once it is repaired', async () => {
  await write('0001_doors.sql', 'create table doors (id int);');
  await write('0002_broken.sql', 'create table windows (id int); select nonsense;');
  await assert.rejects(
    migrate(database.url, directory),
    /^Error: Migration 0002_broken\.sql failed: .*nonsense/,
  );
  assert.deepEqual(
    await query("select to_regclass('doors') is not null as doors, to_regclass('windows') as windows"),
    [{ doors: true, windows: null }],
  );
  await write('0002_broken.sql', 'create table windows (id int);');
  assert.deepEqual((await migrate(database.url, directory)).applied, [2]);
});

test('a database that a newer Baton migrated is refused with one sentence', async () => {
  await write('0001_doors.sql', 'select 1;');
  await write('0002_more.sql', 'select 2;');
  await migrate(database.url, directory);
  await unlink(join(directory, '0002_more.sql'));
  await assert.rejects(migrate(database.url, directory), (error: Error) => {
    assert.ok(error instanceof DatabaseNewerError);
    assert.equal(
      error.message,
      'The database is at revision 2, but this Baton knows only 1. Use the newer Baton.',
    );
    return true;
  });
});

test('a migration that was changed after it ran is refused, and nothing newer is applied', async () => {
  await write('0001_doors.sql', 'create table doors (id int);');
  await migrate(database.url, directory);
  await write('0001_doors.sql', 'create table doors (id bigint);');
  await write('0002_more.sql', 'create table windows (id int);');
  await assert.rejects(migrate(database.url, directory), MigrationChangedError);
  assert.deepEqual(await query("select to_regclass('windows') as windows"), [{ windows: null }]);
});

test('a gap in the numbers is refused before anything is applied', async () => {
  await write('0001_doors.sql', 'create table doors (id int);');
  await write('0003_more.sql', 'select 1;');
  await assert.rejects(migrate(database.url, directory), /0003_more\.sql should have number 2/);
  assert.deepEqual(await query("select to_regclass('doors') as doors"), [{ doors: null }]);
});

test('a rehearsal reports what would be applied or would fail, and changes nothing', async () => {
  await write('0001_doors.sql', 'create table doors (id int); insert into doors values (1), (1);');
  await write('0002_more.sql', 'insert into doors values (2);');
  await query('drop table schema_migrations');
  const tables = "select to_regclass('doors') as doors, to_regclass('schema_migrations') as ledger";
  assert.deepEqual(await rehearseMigrations(database.url, directory), { pending: [1, 2], head: 2 });
  assert.deepEqual(await query(tables), [{ doors: null, ledger: null }]);
  await migrate(database.url, directory);
  assert.deepEqual(await rehearseMigrations(database.url, directory), { pending: [], head: 2 });
  // Fails because of the data: two doors have the same id.
  await write('0003_unique.sql', 'create unique index on doors (id);');
  await assert.rejects(
    rehearseMigrations(database.url, directory),
    /^Error: Migration 0003_unique\.sql failed/,
  );
  const deferred =
    'create table windows (id int unique deferrable initially deferred); insert into windows values (1), (1);';
  await write('0003_unique.sql', deferred);
  await assert.rejects(
    rehearseMigrations(database.url, directory),
    /^Error: Migration 0003_unique\.sql failed/,
  );
  assert.deepEqual(await query('select max(version) as head from schema_migrations'), [{ head: 2 }]);
  await write('0001_doors.sql', 'select 1;');
  await assert.rejects(rehearseMigrations(database.url, directory), MigrationChangedError);
});

test('a rehearsal fails rather than wait for a lock of another transaction', async () => {
  await write('0001_doors.sql', 'create table doors (id int);');
  await migrate(database.url, directory);
  await write('0002_more.sql', 'alter table doors add column name text;');
  const worker = new pg.Client({ connectionString: database.url });
  await worker.connect();
  try {
    await worker.query('begin; insert into doors values (1)');
    await assert.rejects(rehearseMigrations(database.url, directory), /lock timeout/);
  } finally {
    await worker.end();
  }
});

test('a connection that is cut while it migrates fails the call, not the process', async () => {
  await write(
    '0001_cut.sql',
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'baton-migrate' and datname = current_database();`,
  );
  await assert.rejects(migrate(database.url, directory), /terminat/);
  await unlink(join(directory, '0001_cut.sql'));
  await write('0001_doors.sql', 'create table doors (id int);');
  assert.deepEqual(await migrate(database.url, directory), { applied: [1], head: 1 });
});
