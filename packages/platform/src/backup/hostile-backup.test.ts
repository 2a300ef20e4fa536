import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, test } from 'node:test';
import { createGzip } from 'node:zlib';
import pg from 'pg';
import { longTest } from '@baton/testing/depth';
import { type Cluster, startCluster } from '../postgres/cluster.ts';
import { ensureDatabase } from '../postgres/databases.sql.ts';
import { StartError } from '../start-error.ts';
import { folderInMemory, privateFolder } from '../testing/private-folder.ts';
import { formatVersion, packArchive } from './archive.ts';
import { thisPlatform } from './backup.ts';
import { baseBackup } from './base-backup.ts';
import { findForeignCode } from './foreign-code.sql.ts';
import { restore } from './restore.ts';

let folder: ReturnType<typeof privateFolder>;
let cluster: Cluster;
let data: string;
/** Created if a command of the backup runs. The server may run as another user. */
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

/** Packs the current cluster of the attacker. */
async function packed(own: Readonly<Record<string, object>> = {}): Promise<string> {
  const files = new Map(
    ['version.json', 'state.json', 'connection.json', 'secrets/key'].map((name) => [
      name,
      Buffer.from(JSON.stringify(own[name] ?? {})),
    ]),
  );
  const manifest = {
    format: 'baton-backup',
    version: formatVersion,
    createdAt: '2026-11-27T00:00:00.000Z',
    dataVersion: 1,
    postgres: 18,
    platform: thisPlatform,
  } as const;
  const archive = packArchive(manifest, files, baseBackup(cluster.url('postgres')), Readable.from([]));
  const file = join(folder.path, 'backup');
  await pipeline(Readable.from(archive), createGzip({ level: 1 }), createWriteStream(file));
  return file;
}

/** @returns the victim's new folder */
async function restored(file?: string): Promise<string> {
  const home = join(folder.path, 'victim');
  await restore({
    env: { BATON_HOME: home },
    file: file ?? (await packed()),
    replace: false,
    say: () => undefined,
    signal: new AbortController().signal,
  });
  return home;
}

async function refused(pattern: RegExp, file?: string): Promise<void> {
  await assert.rejects(restored(file), (error: Error) => {
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
  // Without protection, the command would have run by now, because the shutdown of a server waits for its archiver.
  assert.ok(!existsSync(marker), 'a command of the backup ran');
  const own = join(home, 'postgres', 'data');
  assert.equal(readFileSync(join(own, 'postgresql.auto.conf'), 'utf8'), '');
  assert.doesNotMatch(readFileSync(join(own, 'postgresql.conf'), 'utf8'), /_command/);
  assert.deepEqual(
    (await readdir(own)).filter((name) => name.endsWith('.conf')),
    ['pg_hba.conf', 'pg_ident.conf', 'postgresql.auto.conf', 'postgresql.conf'],
  );
});

test('a backup that requests a recovery with its own command is rejected before the server starts', async () => {
  writeFileSync(join(data, 'postgresql.auto.conf'), `restore_command = 'touch ${marker}; false'\n`);
  writeFileSync(join(data, 'recovery.signal'), '');
  await refused(/it contains the unexpected entry "recovery\.signal"/);
});

const runs = () => `copy (select 1) to program 'touch ${marker}'`;
const evil = () => `language plpgsql as $$ begin ${runs()}; end $$`;
const evilOf = (value: string) => `language plpgsql as $$ begin ${runs()}; return ${value}; end $$`;

test('code that runs as superuser when somebody connects or writes is refused and never runs', async () => {
  await run(
    'postgres',
    'set event_triggers = off',
    `create function evil_login() returns event_trigger ${evil()}`,
    'create event trigger evil_login on login execute function evil_login()',
    'alter event trigger evil_login enable always',
    'alter role baton set event_triggers = on',
  );
  await refused(/the setting event_triggers of a role/);
});

longTest(
  'the search for code of others runs none of it, whatever the catalogs of the backup call it',
  async () => {
    await run(
      'coordination',
      `create function pg_catalog.evil(name, name) returns text ${evilOf(`''`)}`,
      'create operator pg_catalog.|| (leftarg = name, rightarg = name, function = pg_catalog.evil)',
      `create function evil() returns event_trigger ${evil()}`,
      "create event trigger harmless on ddl_command_start when tag in ('DROP AGGREGATE') execute function evil()",
    );
    await refused(/the event trigger harmless in the database coordination/);
  },
);

longTest('the server of a restore starts no worker of a subscription', async () => {
  let callers = 0;
  const server = createServer((socket) => {
    callers += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    await run(
      'coordination',
      `create subscription evil connection 'host=127.0.0.1 port=${port}' publication p
         with (connect = false, slot_name = 'evil', run_as_owner = true)`,
      'alter subscription evil enable',
    );
    const file = await packed();
    await run(
      'coordination',
      'alter subscription evil disable',
      'alter subscription evil set (slot_name = none)',
      'drop subscription evil',
    );
    callers = 0;
    await refused(/the subscription evil/, file);
    assert.equal(callers, 0, 'a worker of the backup connected to its server');
  } finally {
    server.close();
  }
});

test("whatever can run with the superuser's rights is found", async () => {
  const attacks: [RegExp, database: string, make: string[], undo: string[]][] = [
    [
      /^the function evil of a superuser in the database coordination$/,
      'coordination',
      [`create function evil() returns void security definer ${evil()}`],
      ['drop function evil()'],
    ],
    [
      /^the function evil of a predefined role in the database coordination$/,
      'coordination',
      [
        `create function evil() returns void security definer ${evil()}`,
        'alter function evil() owner to pg_execute_server_program',
      ],
      ['drop function evil()'],
    ],
    [
      /^the function evil in a language that only superusers may use in/,
      'coordination',
      [
        `create function evil(oid, text) returns integer language internal as 'be_lo_export'`,
        'alter function evil(oid, text) owner to coordination',
      ],
      ['drop function evil(oid, text)'],
    ],
    [
      /^the function lo_export of PostgreSQL with a grant to others in/,
      'coordination',
      ['grant execute on function lo_export(oid, text) to pg_database_owner'],
      ['revoke execute on function lo_export(oid, text) from pg_database_owner'],
    ],
    [
      /^the function ts_debug of PostgreSQL with another language or the rights of its owner in/,
      'coordination',
      ['alter function pg_catalog.ts_debug(text) security definer'],
      ['alter function pg_catalog.ts_debug(text) security invoker'],
    ],
    [
      /^the table or view evil of a superuser in the database template1$/,
      'template1',
      ['create table evil (n integer)'],
      ['drop table evil'],
    ],
    [
      /^an operator family in the database identity$/,
      'identity',
      [
        `create operator class evil for type integer using btree as
           operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >,
           function 1 btint4cmp(integer, integer)`,
      ],
      ['drop operator family evil using btree'],
    ],
    [
      /^the setting search_path of a role or database$/,
      'postgres',
      ['alter role baton set search_path = public, pg_catalog'],
      ['alter role baton reset all'],
    ],
    [
      /^the setting session_preload_libraries of a role or database$/,
      'postgres',
      [`alter role coordination set session_preload_libraries = '/tmp/evil'`],
      ['alter role coordination reset all'],
    ],
    [
      /^a grant of the role pg_execute_server_program$/,
      'postgres',
      ['grant pg_execute_server_program to coordination'],
      ['revoke pg_execute_server_program from coordination'],
    ],
    [
      /^a grant of the setting archive_command$/,
      'postgres',
      ['grant alter system on parameter archive_command to coordination'],
      ['revoke alter system on parameter archive_command from coordination'],
    ],
    [/^the superuser evil$/, 'postgres', ['create role evil superuser'], ['drop role evil']],
    [
      /^the database hidden that nobody can connect to$/,
      'postgres',
      ['create database hidden allow_connections false'],
      ['drop database hidden'],
    ],
  ];
  for (const [pattern, database, make, undo] of attacks) {
    await run(database, ...make);
    assert.match((await findForeignCode(cluster.url)) ?? 'nothing', pattern);
    await run(database, ...undo);
  }
  assert.equal(await findForeignCode(cluster.url), undefined);
  assert.ok(!existsSync(marker), 'the search ran a command');
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

test('a backup of a Baton with external databases is rejected; older versions could write one, without data', async () => {
  const address = (name: string) => `postgresql://u:hidden-password@db.example/${name}`;
  const file = await packed({
    'state.json': { adminPrincipalId: 'a' },
    'connection.json': { iamDatabaseUrl: address('iam'), cpDatabaseUrl: address('cp') },
  });
  await refused(
    /contains no data, .* \(identity at db\.example:5432\/iam, coordination at db\.example:5432\/cp\)\.$/,
    file,
  );
});
