import assert from 'node:assert/strict';
import { chmodSync, createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, test } from 'node:test';
import { createGzip } from 'node:zlib';
import pg from 'pg';
import { type Cluster, startCluster } from '../postgres/cluster.ts';
import { ensureDatabase } from '../postgres/databases.sql.ts';
import { StartError } from '../start-error.ts';
import { folderInMemory, privateFolder } from '../testing/private-folder.ts';
import { formatVersion, packArchive } from './archive.ts';
import { thisPlatform } from './backup.ts';
import { baseBackup } from './base-backup.ts';
import { restore } from './restore.ts';

let folder: ReturnType<typeof privateFolder>;
let cluster: Cluster;
let data: string;
/** A command of the backup makes it. The server may run as another user. */
let marker: string;

beforeEach(async () => {
  folder = privateFolder(folderInMemory());
  chmodSync(folder.path, 0o755);
  const open = join(folder.path, 'open');
  mkdirSync(open);
  chmodSync(open, 0o777);
  marker = join(open, 'marker');
  const home = join(folder.path, 'attacker');
  mkdirSync(home, { mode: 0o700 });
  data = join(home, 'postgres', 'data');
  cluster = await startCluster({ directory: join(home, 'postgres'), durable: false, say: () => undefined });
  for (const name of ['identity', 'coordination']) await ensureDatabase(cluster.url('postgres'), name);
});

afterEach(async () => {
  await cluster.stop();
  await folder.remove();
});

async function run(database: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.url(database) });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Packs the attacker's cluster as it is now, and restores it. @returns the victim's new folder */
async function restored(): Promise<string> {
  const files = new Map(
    ['version.json', 'state.json', 'connection.json', 'secrets/key'].map((name) => [name, Buffer.from('{}')]),
  );
  const manifest = {
    format: 'baton-backup',
    version: formatVersion,
    createdAt: '2026-11-27T00:00:00.000Z',
    dataVersion: 1,
    postgres: 18,
    platform: thisPlatform,
  } as const;
  const packed = packArchive(manifest, files, baseBackup(cluster.url('postgres')), Readable.from([]));
  const file = join(folder.path, 'backup');
  await pipeline(Readable.from(packed), createGzip({ level: 1 }), createWriteStream(file));
  const home = join(folder.path, 'victim');
  const options = { file, replace: false, say: () => undefined, signal: new AbortController().signal };
  await restore({ env: { BATON_HOME: home }, ...options });
  return home;
}

async function refused(pattern: RegExp): Promise<void> {
  await assert.rejects(restored(), (error: Error) => {
    assert.ok(error instanceof StartError, error.stack);
    assert.match(error.message, pattern);
    return true;
  });
  assert.ok(!existsSync(marker), 'a command of the backup ran');
  assert.ok(!existsSync(join(folder.path, 'victim')), 'something was restored');
}

test('a restore starts the server with its own configuration, so no command of the backup runs', async () => {
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `archive_mode = on\narchive_command = 'touch ${marker}'\nrestore_command = 'touch ${marker}; false'\n`,
  );
  await run(
    'coordination',
    'create table kept as select 42 as answer',
    'alter table kept owner to coordination',
  );
  const home = await restored();
  // A server that has archived is idle for a moment: its end waits for the archiver, so the command would have run.
  assert.ok(!existsSync(marker), 'a command of the backup ran');
  const own = join(home, 'postgres', 'data');
  assert.equal(readFileSync(join(own, 'postgresql.auto.conf'), 'utf8'), '');
  assert.doesNotMatch(readFileSync(join(own, 'postgresql.conf'), 'utf8'), /_command/);
  assert.deepEqual(
    (await readdir(own)).filter((name) => name.endsWith('.conf')),
    ['pg_hba.conf', 'pg_ident.conf', 'postgresql.auto.conf', 'postgresql.conf'],
  );
});

test('a backup that asks for a recovery by its own command is refused before the server starts', async () => {
  writeFileSync(join(data, 'postgresql.auto.conf'), `restore_command = 'touch ${marker}; false'\n`);
  writeFileSync(join(data, 'recovery.signal'), '');
  await refused(/no backup contains "recovery\.signal"/);
});

const evil = () => `language plpgsql as $$ begin copy (select 1) to program 'touch ${marker}'; end $$`;

test('code that runs as superuser when somebody connects or writes is refused and never runs', async () => {
  const attacks: Record<string, [RegExp, () => Promise<void>, () => Promise<void>]> = {
    'an event trigger on sign-in, which is set for the superuser': [
      /the setting event_triggers of a role/,
      () =>
        run(
          'postgres',
          'set event_triggers = off',
          `create function evil_login() returns event_trigger ${evil()}`,
          'create event trigger evil_login on login execute function evil_login()',
          'alter event trigger evil_login enable always',
          'alter role baton set event_triggers = on',
        ),
      () =>
        run(
          'template1',
          'drop database postgres with (force)',
          'create database postgres',
          'alter role baton reset all',
        ),
    ],
    'a function with the rights of the superuser': [
      /the function evil of a superuser in the database coordination/,
      () => run('coordination', `create function evil() returns void security definer ${evil()}`),
      () => run('coordination', 'drop function evil()'),
    ],
    'a library for a role': [
      /the setting session_preload_libraries of a role/,
      () => run('postgres', `alter role coordination set session_preload_libraries = '/tmp/evil'`),
      () => run('postgres', 'alter role coordination reset all'),
    ],
    'a role that may run programs': [
      /a grant of the role pg_execute_server_program/,
      () => run('postgres', 'grant pg_execute_server_program to coordination'),
      () => run('postgres', 'revoke pg_execute_server_program from coordination'),
    ],
  };
  for (const [name, [pattern, make, undo]] of Object.entries(attacks)) {
    await make();
    await refused(pattern).catch((cause: unknown) => {
      throw new Error(name, { cause });
    });
    await undo();
  }
});

test("a trigger of the backup doesn't run as superuser when the restore writes", async () => {
  await run(
    'coordination',
    'set role coordination',
    'reset role',
    'grant all on schema public to coordination',
    'set role coordination',
    'create table journal_epoch (server_started_at timestamptz)',
    'insert into journal_epoch values (now())',
    `create function evil() returns trigger ${evil()}`,
    'create trigger evil before update on journal_epoch for each row execute function evil()',
  );
  await assert.rejects(restored(), /permission denied to COPY to or from an external program/);
  assert.ok(!existsSync(marker), 'the trigger ran a command');
});
