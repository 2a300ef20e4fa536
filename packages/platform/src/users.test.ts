import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import {
  awaitReady,
  type BatonProcess,
  findProcesses,
  program,
  stopProgram,
} from '@baton/testing/baton-process';
import { longTest } from '@baton/testing/depth';
import { folderInMemory, privateFolder } from './testing/private-folder.ts';

// Starts Baton as different users and after different kinds of shutdown. PostgreSQL runs as the owner of the folder,
// or, if that is root, as another user, who must always be able to traverse it.

const skip = process.getuid?.() !== 0 && 'only root can run programs as other users';
const root = 0;
/** A user that exists on every Linux system. `postgres` or `nobody` runs the server of root's Baton. */
const daemon = 1;

let folder: ReturnType<typeof privateFolder>;
let ofRoot: string;
let ofDaemon: string;
const started: BatonProcess[] = [];

before(() => {
  folder = privateFolder(folderInMemory());
  chmodSync(folder.path, 0o755);
  ofRoot = join(folder.path, 'of-root');
  ofDaemon = join(folder.path, 'of-daemon');
  mkdirSync(ofDaemon, { mode: 0o700 });
  chownSync(ofDaemon, daemon, daemon);
});

after(async () => {
  for (const { child } of started) child.kill('SIGTERM');
  await Promise.all(started.map(({ ended }) => ended));
  for (const { output } of started) keepLog(output());
  await unused(folder.path);
  await folder.remove();
});

/**
 * Waits until no process uses the folder. A killed Baton leaves PostgreSQL and its console build running, and the build
 * recreates its folder.
 */
async function unused(path: string): Promise<void> {
  const isUsed = () =>
    globSync('/proc/[0-9]*/cmdline').some((file) => {
      try {
        return readFileSync(file, 'utf8').includes(path);
      } catch {
        return false;
      }
    });
  for (const deadline = performance.now() + 60_000; isUsed() && performance.now() < deadline; )
    await sleep(50);
}

function run(uid: number, file: string, args: readonly string[], home: string): BatonProcess {
  const env = { BATON_HOME: home, PORT: '0', HOME: folder.path };
  const running = program(file, args, env, { uid });
  started.push(running);
  return running;
}

const start = (uid: number, home: string) => run(uid, 'packages/platform/src/start.main.ts', [], home);
const doctor = (uid: number, home: string) => run(uid, 'packages/cli/src/main.ts', ['doctor'], home);

async function kill({ child, ended }: BatonProcess): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

async function refused(running: BatonProcess, pattern: RegExp): Promise<void> {
  assert.equal(await running.ended, 1, running.output());
  assert.match(running.output(), pattern);
  assert.match(running.output(), /^[^\n]+\.\n$/, 'one sentence');
}

/** The server must be able to reopen its files; otherwise it PANICs. */
async function checkpoints(home: string): Promise<void> {
  const { iamDatabaseUrl } = JSON.parse(readFileSync(join(home, 'connection.json'), 'utf8')) as {
    iamDatabaseUrl: string;
  };
  const url = iamDatabaseUrl.replace('identity@', 'baton@').replace('/identity?', '/postgres?');
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('checkpoint');
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function backsUp(uid: number, home: string, name: string): Promise<void> {
  const file = join(home, name);
  const backup = run(uid, 'packages/platform/src/backup.main.ts', [file], home);
  assert.equal(await backup.ended, 0, backup.output());
  assert.ok(existsSync(file));
}

test('root, killed, root again: the server that is adopted still reaches its data', { skip }, async () => {
  const first = await awaitReady(start(root, ofRoot));
  const { postgres } = findProcesses(ofRoot);
  await kill(first);
  const second = await awaitReady(start(root, ofRoot));
  assert.match(second.output(), /Using the running PostgreSQL/);
  assert.equal(findProcesses(ofRoot).postgres, postgres);
  await checkpoints(ofRoot);
  assert.equal(statSync(ofRoot).mode & 0o777, 0o710);
  // A start that finds the folder locked must not change it.
  await refused(start(root, ofRoot), /Another Baton \(process \d+\) is using/);
  await checkpoints(ofRoot);
  await backsUp(root, ofRoot, 'while-it-runs');
});

test('doctor finds a folder that is closed to the server, and a backup opens it', { skip }, async () => {
  const isFine = /^✔ data folder +\S+ is open to user \d+, who runs PostgreSQL$/m;
  const before = doctor(root, ofRoot);
  await before.ended;
  assert.match(before.output(), isFine);
  // The state that an older Baton left.
  chmodSync(ofRoot, 0o700);
  const { gid } = statSync(join(ofRoot, 'postgres'));
  const closed = doctor(root, ofRoot);
  assert.equal(await closed.ended, 1);
  assert.match(closed.output(), /^✘ data folder +\S+ is closed to user \d+, who runs PostgreSQL$/m);
  assert.ok(closed.output().includes(`chgrp ${gid} ${ofRoot} && chmod 710 ${ofRoot}`), closed.output());
  await backsUp(root, ofRoot, 'of-a-closed-folder');
  await checkpoints(ofRoot);
  const repaired = doctor(root, ofRoot);
  await repaired.ended;
  assert.match(repaired.output(), isFine);
});

test("root, then a user: the user gets a one-line message, and root's Baton keeps running", {
  skip,
}, async () => {
  const sentence = /it is not writable \(EACCES\); it belongs to user 0/;
  await refused(start(daemon, ofRoot), sentence);
  for (const file of ['backup', 'restore'])
    await refused(
      run(daemon, `packages/platform/src/${file}.main.ts`, [join(folder.path, 'x')], ofRoot),
      /Cannot read .* \(E\w+\)/,
    );
  await refused(
    run(daemon, 'packages/platform/src/env.main.ts', [], ofRoot),
    /Cannot read \S+connection\.json \(EACCES\): this Baton belongs to another user/,
  );
  await checkpoints(ofRoot);
  await stopProgram(
    started.find(({ child }) => child.exitCode === null && child.signalCode === null) as BatonProcess,
  );
});

longTest(
  'a user, killed, root: root is refused, and the user goes on with the same server',
  {
    skip,
  },
  async () => {
    const first = await awaitReady(start(daemon, ofDaemon));
    const { postgres } = findProcesses(ofDaemon);
    await kill(first);
    await refused(start(root, ofDaemon), /belongs to user 1, but the current user is 0\. Run this as user 1/);
    const second = await awaitReady(start(daemon, ofDaemon));
    assert.equal(findProcesses(ofDaemon).postgres, postgres);
    await checkpoints(ofDaemon);
    await stopProgram(second);
  },
);

test("a user, stopped, a backup by root: the user's files keep their owner, and their Baton starts", {
  skip,
}, async () => {
  await stopProgram(await awaitReady(start(daemon, ofDaemon)));
  await backsUp(root, ofDaemon, 'by-root');
  for (const path of ['', 'postgres', 'postgres/data', 'postgres/server.log', 'connection.json'])
    assert.equal(statSync(join(ofDaemon, path)).uid, daemon, path);
  await stopProgram(await awaitReady(start(daemon, ofDaemon)));
});
