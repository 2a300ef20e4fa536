import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import { doorMigrations } from '../door/door-service.ts';
import { type StoreWatch, watchStore } from './store-changes.ts';
import { findUnnoticedChanges } from './store-changes-check.ts';

let database: TestDatabase;
let store: pg.Pool;
let watch: StoreWatch;

before(async () => {
  database = await createTestDatabase(doorMigrations);
  store = new pg.Pool({ connectionString: database.url });
  store.on('error', () => undefined);
  await store.query(`
    create table no_key (note json, checked_at timestamptz);
    create table parted (id int, label text) partition by list (id);
    create table parted_1 partition of parted default;
    create schema elsewhere;
    create table elsewhere."Odd name" (id int generated always as identity primary key, label text);
    create table unwatched (id int);
    insert into no_key values ('{"a": 1}', null)`);
  watch = await watchStore(database.url, ['unwatched', 'no_key.checked_at']);
});
after(async () => {
  await watch.close();
  await store.end();
  await database.drop();
});

async function changesOf(...statements: string[]): Promise<string[]> {
  const mark = await watch.mark();
  for (const statement of statements) await store.query(statement);
  return watch.changesSince(mark);
}

test('each table and operation is reported once, whatever its rows are', async () => {
  assert.deepEqual(
    await changesOf(
      "insert into no_key select '{}' from generate_series(1, 3)",
      `update no_key set note = '{"b": 1}'`,
      "insert into parted values (1, 'one')",
      'delete from parted_1',
    ),
    ['no_key insert', 'no_key update', 'parted delete', 'parted insert'],
  );
});

test('what was rolled back, changed no value or is ignored is no change', async () => {
  const unchanged = await changesOf(
    'begin; insert into no_key default values; rollback',
    'update no_key set note = note, checked_at = now()',
    'insert into unwatched values (1)',
    'delete from no_key where false',
  );
  assert.deepEqual(unchanged, []);
});

test('a transaction that was open at the mark and commits after it is reported, one before it is not', async () => {
  await store.query('insert into no_key default values');
  const late = await store.connect();
  try {
    await late.query('begin; delete from no_key');
    await store.query('insert into no_key default values');
    const mark = await watch.mark();
    assert.deepEqual(await watch.changesSince(mark), []);
    await late.query('commit');
    assert.deepEqual(await watch.changesSince(mark), ['no_key delete']);
  } finally {
    late.release();
  }
});

test('every table is watched, and the check finds one that is not', async () => {
  assert.deepEqual(await findUnnoticedChanges(database.url, watch, ['unwatched']), []);
  assert.deepEqual(
    await findUnnoticedChanges(database.url, watch, [
      'doors',
      'no_key',
      'parted',
      'elsewhere."Odd name"',
      'idempotency_keys',
    ]),
    [
      'unwatched insert: noticed as nothing',
      'unwatched update: noticed as nothing',
      'unwatched delete: noticed as nothing',
      'unwatched truncate: noticed as nothing',
    ],
  );
});
