import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createProgramDatabase, type TestDatabase } from '@baton/kernel/testing/database/database';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { awaitReady, type BatonProcess, program, stopProgram } from '@baton/testing/baton-process';
import { longTest } from '@baton/testing/depth';
import { projectRoot } from './config.ts';
import { knownPlaces, placesOfHome } from './home-databases.ts';
import { privateFolder } from './testing/private-folder.ts';

// A Baton on its own PostgreSQL, and shells without its addresses.

let folder: ReturnType<typeof privateFolder>;
let home: string;
let own: Addresses;
/** Databases with the tables of both services but without this Baton's data. */
let empty: Addresses;
const databases: TestDatabase[] = [];
const started: BatonProcess[] = [];

type Addresses = Record<'IAM_DATABASE_URL' | 'CP_DATABASE_URL', string>;

before(async () => {
  folder = privateFolder();
  home = join(folder.path, 'home');
  [own, empty] = [await addresses(), await addresses()];
  await stopProgram(await awaitReady(run('packages/platform/src/start.main.ts', [], own)));
});

after(async () => {
  for (const { child } of started) child.kill('SIGTERM');
  await Promise.all(started.map(({ ended }) => ended));
  for (const { output } of started) keepLog(output());
  for (const database of databases) await database.drop();
  await folder.remove();
});

async function addresses(): Promise<Addresses> {
  const [iam, cp] = [await database('identity'), await database('coordination')];
  return { IAM_DATABASE_URL: iam, CP_DATABASE_URL: cp };
}

async function database(service: string): Promise<string> {
  const made = await createProgramDatabase(join(projectRoot, 'packages', service, 'migrations'));
  databases.push(made);
  return made.url;
}

function run(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): BatonProcess {
  const running = program(file, args, { BATON_HOME: home, PORT: '0', ...env });
  started.push(running);
  return running;
}

const start = (env: Readonly<Record<string, string>>) => run('packages/platform/src/start.main.ts', [], env);

async function refused(running: BatonProcess, pattern: RegExp): Promise<void> {
  assert.equal(await running.ended, 1, running.output());
  const [last = ''] = running.output().trimEnd().split('\n').slice(-1);
  assert.match(last, pattern);
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);
const stateFile = () => join(home, 'state.json');
const state = () => JSON.parse(readFileSync(stateFile(), 'utf8')) as Record<string, unknown>;

test('one of the two addresses alone stops the start, before anything is made', async () => {
  const fresh = join(folder.path, 'fresh');
  for (const [name, other] of [
    ['IAM_DATABASE_URL', 'CP_DATABASE_URL'],
    ['CP_DATABASE_URL', 'IAM_DATABASE_URL'],
  ] as const) {
    const alone = start({ BATON_HOME: fresh, [name]: own[name] });
    await refused(alone, new RegExp(`^${name} is set but ${other} is not\\. Set both .*, or neither`));
  }
  assert.ok(!existsSync(fresh));
});

test('the folder records where its databases are, without user and password', () => {
  const { identity, coordination } = state()['databases'] as Record<string, string>;
  assert.ok(identity?.endsWith(`/${nameOf(own.IAM_DATABASE_URL)}`), identity);
  assert.ok(coordination?.endsWith(`/${nameOf(own.CP_DATABASE_URL)}`), coordination);
  assert.ok(!JSON.stringify(state()).includes('@'));
});

test("without the addresses start, backup and restore fail with the settings' names, and doctor reports it", async () => {
  const named = new RegExp(
    `your own PostgreSQL \\(identity at \\S+/${nameOf(own.IAM_DATABASE_URL)}, coordination at \\S+/${nameOf(own.CP_DATABASE_URL)}\\)`,
  );
  const file = join(folder.path, 'false-backup');
  const each = async () => {
    await refused(start({}), named);
    await refused(run('packages/platform/src/backup.main.ts', [file]), named);
    writeFileSync(`${file}.old`, '');
    await refused(run('packages/platform/src/restore.main.ts', ['--replace', `${file}.old`]), named);
    assert.ok(!existsSync(file) && !existsSync(join(home, 'postgres')), 'nothing was made');
  };
  await each();
  const doctor = run('packages/cli/src/main.ts', ['doctor']);
  assert.equal(await doctor.ended, 1);
  assert.match(
    doctor.output(),
    /^✘ databases +your own PostgreSQL: identity at \S+, coordination at \S+\n +Set IAM_DATABASE_URL and CP_DATABASE_URL/m,
  );
  // The state that an older Baton left.
  const { databases: _databases, ...older } = state();
  writeFileSync(stateFile(), JSON.stringify(older));
  await each();
});

test('doctor finds one address alone, and nothing wrong with both', async () => {
  const one = run('packages/cli/src/main.ts', ['doctor'], { CP_DATABASE_URL: own.CP_DATABASE_URL });
  await one.ended;
  assert.match(one.output(), /^✘ databases +CP_DATABASE_URL is set and IAM_DATABASE_URL is not$/m);
  await stopProgram(await awaitReady(start(own)));
  const both = run('packages/cli/src/main.ts', ['doctor'], own);
  await both.ended;
  assert.match(both.output(), /^✔ databases +your own PostgreSQL: /m);
});

test('databases that hold nothing of this Baton are refused; the same ones at another address are taken', async () => {
  await refused(
    start(empty),
    /^The database of IAM_DATABASE_URL contains no data of the Baton in \S+\. Move its data there first/,
  );
  await refused(
    start({ ...own, CP_DATABASE_URL: empty.CP_DATABASE_URL }),
    /^The database of CP_DATABASE_URL contains no data of the Baton/,
  );
  assert.deepEqual(state()['databases'], placesOfHome(home));
  const before = state()['databases'];
  const elsewhere = Object.fromEntries(
    Object.entries(own).map(([name, url]) => {
      const moved = new URL(url);
      // The same socket folder and the same host, spelled differently.
      const socket = moved.searchParams.get('host');
      if (socket === null) moved.hostname = moved.hostname === 'localhost' ? '127.0.0.1' : 'localhost';
      else moved.searchParams.set('host', `${socket}/`);
      return [name, moved.href];
    }),
  );
  await stopProgram(await awaitReady(start(elsewhere)));
  assert.notDeepEqual(state()['databases'], before);
});

longTest('a Baton of the built-in PostgreSQL does not begin again, empty, in another one', async () => {
  const other = join(folder.path, 'built-in');
  mkdirSync(other, { mode: 0o700 });
  const built = { ...state(), databases: 'built-in' };
  writeFileSync(join(other, 'state.json'), JSON.stringify(built), { mode: 0o600 });
  await refused(start({ BATON_HOME: other, ...empty }), /IAM_DATABASE_URL contains no data of the Baton in/);
});

test('the connection file of an older folder contains the location of its databases', () => {
  const places = (connection: object, more: object = { adminPrincipalId: 'a' }) =>
    knownPlaces((name) => JSON.stringify(name === 'state.json' ? more : connection));
  const builtIn = (name: string, socket: string) =>
    `postgresql://${name}@localhost:5432/${name}?host=${encodeURIComponent(socket)}`;
  for (const socket of ['/home/a/.baton/postgres/run', '/tmp/baton-1000-0123456789ab'])
    assert.equal(
      places({
        iamDatabaseUrl: builtIn('identity', socket),
        cpDatabaseUrl: builtIn('coordination', socket),
      }),
      'built-in',
    );
  const cpDatabaseUrl = 'postgresql://u:hidden@db.example:6432/cp?sslmode=require';
  assert.deepEqual(
    places({ iamDatabaseUrl: builtIn('identity', '/a/postgres/run'), cpDatabaseUrl }),
    { identity: 'the built-in PostgreSQL', coordination: 'db.example:6432/cp' },
    'one of each, which an older Baton could have',
  );
  assert.deepEqual(
    places({
      iamDatabaseUrl: builtIn('iam', '/var/run/postgresql'),
      cpDatabaseUrl: 'host=x password=hidden',
    }),
    { identity: '/var/run/postgresql:5432/iam', coordination: 'an unparsable address' },
  );
  assert.equal(places({ iamDatabaseUrl: cpDatabaseUrl, cpDatabaseUrl }, {}), undefined, 'not set up yet');
  assert.equal(
    knownPlaces(() => 'damaged'),
    undefined,
  );
});
