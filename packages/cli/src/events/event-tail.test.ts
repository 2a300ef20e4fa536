import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { platform } from 'node:process';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonProcess, program } from '@baton/testing/baton-process';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// `baton event tail` in a separate process. Its Baton is not shared, because the command reads all events of the last
// hour.

let baton: RunningBaton;

before(async () => {
  baton = await startRunningBaton();
});
after(() => baton?.stop());

const tail = (...args: string[]) =>
  program('packages/cli/src/main.ts', ['event', 'tail', ...args], { BATON_HOME: baton.home });

/** Creates tasks until one is seen: then the reader has reached the end of the journal. */
async function untilSeen(running: ReturnType<typeof tail>, title: string): Promise<void> {
  for (let n = 0; n < 600 && running.output() === ''; n += 1) {
    await baton.admin.tasks.create({ title });
    await sleep(100);
  }
  assert.notEqual(running.output(), '');
}

test('events of a type are printed as they happen, and Ctrl-C ends it with 0', async () => {
  const running = tail('--type', 'task.');
  await untilSeen(running, 'Seen');
  await baton.admin.principals.create({ kind: 'service', displayName: 'Not seen' });
  const { publicId } = await baton.admin.tasks.create({ title: 'Last' });
  await running.prints(new RegExp(`^\\S+Z {2}task\\.created {10}${publicId}$`, 'm'));
  running.child.kill('SIGINT');
  assert.equal(await running.ended, 0);
  assert.doesNotMatch(running.output(), /principal\./);
});

test('events since a time are printed first, and --max ends it; --json prints one per line', async () => {
  const { publicId } = await baton.admin.tasks.create({ title: 'Before' });
  const running = tail(
    '--since',
    '1h',
    '--type',
    'task.created,claim.',
    '--max',
    '2',
    '--json',
    'type,payload',
  );
  assert.equal(await running.ended, 0);
  const lines = running.output().trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { type: string }).type),
    ['task.created', 'task.created'],
  );
  const all = tail('--since', '1h', '--type', 'task.', '--jq', '.payload.publicId');
  await all.prints(new RegExp(`^${publicId}$`, 'm'));
  all.child.kill('SIGTERM');
  assert.equal(await all.ended, 0);
  const none = tail('--since', new Date(Date.now() + 3_600_000).toISOString(), '--max', '1');
  await baton.admin.tasks.create({ title: 'Too early' });
  await hasConnected(none);
  await sleep(1500);
  assert.equal(none.output(), '');
  none.child.kill('SIGINT');
  assert.equal(await none.ended, 0);
});

/**
 * Waits until a program has a connection, which it opens after it has begun to listen for signals; before that, a
 * signal would end it. Linux lists the connections.
 */
async function hasConnected({ child }: BatonProcess): Promise<void> {
  const folder = `/proc/${child.pid}`;
  for (let n = 0; n < 600 && platform === 'linux'; n += 1) {
    const connections = readFileSync(`${folder}/net/tcp`, 'utf8').split('\n');
    const sockets = new Set(connections.map((line) => `socket:[${line.trim().split(/\s+/)[9]}]`));
    if (readdirSync(`${folder}/fd`).some((fd) => sockets.has(targetOf(`${folder}/fd/${fd}`)))) return;
    await sleep(100);
  }
}

/** What a descriptor refers to; nothing if it has been closed in the meantime. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

test('a time before the first event means the beginning, even if that is many pages back', async () => {
  for (let n = 0; n < 25; n += 1)
    await Promise.all(Array.from({ length: 10 }, () => baton.admin.tasks.create({ title: 'One of many' })));
  const [first] = (await baton.admin.events.list({ limit: 1 })).items;
  const running = tail('--since', '2020-01-01T00:00:00Z', '--max', '1', '--jq', '.id');
  assert.equal(await running.ended, 0);
  assert.equal(running.output().trim(), first?.id);
});

test('an invalid value and a missing permission end it with a message', async () => {
  for (const args of [
    ['--since', 'yesterday'],
    ['--type', 'Task!'],
    ['--max', '0'],
  ]) {
    const running = tail(...args);
    assert.equal(await running.ended, 2, running.output());
  }
  const { token } = await baton.participant(['tasks.read']);
  const env = { BATON_URL: baton.url, BATON_TOKEN: token };
  const running = program('packages/cli/src/main.ts', ['event', 'tail'], env);
  assert.equal(await running.ended, 1);
  assert.match(running.output(), /^permission_denied: /);
});
