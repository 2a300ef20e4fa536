import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { type BatonProcess, baton } from '@baton/testing/baton-process';
import { byDepth, longTest } from '@baton/testing/depth';

let folder: string;
let home: string;
let running: BatonProcess;
const started: BatonProcess[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-backup-'));
  // If root starts a Baton, its PostgreSQL runs as another user, who must be able to reach its folder.
  chmodSync(folder, 0o755);
  home = join(folder, 'home');
  running = await startBaton(home);
});

after(async () => {
  for (const { child } of started) child.kill('SIGTERM');
  await Promise.all(started.map(({ ended }) => ended));
  for (const { output } of started) keepLog(output());
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

async function startBaton(at: string): Promise<BatonProcess> {
  const process = baton(['start'], { BATON_HOME: at, PORT: '0' });
  started.push(process);
  await process.prints(/Baton is ready at http:\S+/);
  return process;
}

async function stopBaton(process: BatonProcess): Promise<void> {
  process.child.kill('SIGTERM');
  assert.equal(await process.ended, 0, process.output());
}

/** Runs a command to completion. */
async function run(args: readonly string[], at: string, env: Record<string, string> = {}) {
  const process = baton(args, { BATON_HOME: at, ...env });
  started.push(process);
  return { code: await process.ended, output: process.output() };
}

const sentence = /^[^\n]+\.\n$/;
async function refused(args: readonly string[], at: string, pattern: RegExp, env = {}) {
  const { code, output } = await run(args, at, env);
  assert.deepEqual([code, sentence.test(output)], [1, true], output);
  assert.match(output, pattern);
}

type Json = Record<string, unknown> & { items: Record<string, unknown>[] };

/** The administrator of a running Baton as a client of its coordination. */
async function clientOf(at: string) {
  const connection = JSON.parse(readFileSync(join(at, 'connection.json'), 'utf8')) as Record<string, string>;
  const { identityUrl, coordinationUrl, adminToken } = connection;
  const send = async (url: string, headers: Record<string, string>, body?: unknown) => {
    const json = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(url, {
      headers: { ...headers, 'content-type': 'application/json' },
      ...json,
    });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const { body } = await send(
    `${identityUrl}/api/v1/platform-access-tokens:exchange`,
    {},
    {
      token: adminToken,
      audience: 'control-plane',
    },
  );
  const headers = { authorization: `Bearer ${body['accessToken']}` };
  const call = (path: string, content?: unknown) =>
    send(`${coordinationUrl}/api/v1${path}`, headers, content);
  return {
    call,
    identity: (path: string) =>
      send(`${identityUrl}/api/v1${path}`, {
        'x-iam-bootstrap-token': connection['iamBootstrapToken'] as string,
      }),
    ready: async () => (await send(`${coordinationUrl}/health/ready`, {})).body,
    async create(title: string): Promise<string> {
      const { status, body: task } = await call('/tasks', { title });
      assert.equal(status, 201, JSON.stringify(task));
      return task['id'] as string;
    },
    /** Creates an artifact with these bytes. @returns its id */
    async store(bytes: string): Promise<string> {
      const response = await fetch(`${coordinationUrl}/api/v1/artifact-contents`, {
        method: 'PUT',
        headers: { ...headers, 'content-type': 'text/plain' },
        body: bytes,
      });
      const { contentRef } = (await response.json()) as { contentRef: string };
      const { status, body: artifact } = await call('/artifacts', {
        type: 'report',
        name: 'Findings',
        contentRef,
      });
      assert.equal(status, 201, JSON.stringify(artifact));
      return artifact['id'] as string;
    },
    async bytesOf(artifactId: string): Promise<string> {
      const response = await fetch(`${coordinationUrl}/api/v1/artifacts/${artifactId}/content`, { headers });
      return response.text();
    },
    async cursorAtEnd(): Promise<string> {
      return (await call('/events?tail=1')).body['nextCursor'] as string;
    },
  };
}

test('a backup under traffic contains everything acknowledged before it, and the restored Baton runs', async () => {
  const client = await clientOf(home);
  const file = join(folder, 'under-traffic');
  const before: string[] = [];
  for (let n = 0; n < 20; n += 1) before.push(await client.create(`before ${n}`));
  const artifactId = await client.store('kept'.repeat(50_000));
  let writing = true;
  const during: string[] = [];
  const writers = Array.from({ length: byDepth(1, 4) }, async () => {
    while (writing) during.push(await client.create('during'));
  });
  const { code, output } = await run(['backup', file], home);
  writing = false;
  await Promise.all(writers);
  assert.equal(code, 0, output);
  assert.match(
    output,
    /^Wrote [^\n]+ \(\d+\.\d MB, \d+\.\d s\)\.\nThe backup contains unencrypted keys and secrets/,
  );
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(during.length > 0, 'there was traffic');
  const lost: string[] = [];
  for (let n = 0; n < 5; n += 1) lost.push(await client.create(`after ${n}`));
  const cursor = await client.cursorAtEnd();

  const target = join(folder, 'restored');
  const restored = await run(['restore', file], target);
  assert.equal(restored.code, 0, restored.output);
  const modes = ['connection.json', 'state.json', 'version.json', 'secrets/signing-key.pem'];
  for (const name of modes) assert.equal(statSync(join(target, name)).mode & 0o777, 0o600, name);
  assert.equal(statSync(target).mode & 0o007, 0);
  const again = await startBaton(target);
  const reader = await clientOf(target);
  const found = async (ids: string[]) =>
    (await Promise.all(ids.map((id) => reader.call(`/tasks/${id}`)))).map(({ status }) => status);
  assert.deepEqual(new Set(await found(before)), new Set([200]));
  assert.deepEqual(new Set(await found(lost)), new Set([404]));

  assert.equal(await reader.bytesOf(artifactId), 'kept'.repeat(50_000));
  assert.equal(statSync(join(target, 'contents')).mode & 0o777, 0o700);

  const ready = await reader.ready();
  const epoch = (ready['detail'] as { journalEpoch?: { reason: string } } | undefined)?.journalEpoch;
  assert.equal(epoch?.reason, 'requested', JSON.stringify(ready));
  const created = await reader.create('in the new history');
  await neverSkips(reader, cursor, created);
  const verified = await run(
    ['identity', 'audit', 'verify', '--key', join(target, 'secrets', 'audit-key')],
    target,
    {
      IAM_DATABASE_URL: (
        JSON.parse(readFileSync(join(target, 'connection.json'), 'utf8')) as Record<string, string>
      )['iamDatabaseUrl'] as string,
    },
  );
  assert.equal(verified.code, 0, verified.output);
  await stopBaton(again);
  assert.doesNotMatch(again.output(), /nothing is sealed|seals nothing/);
});

/** A reader whose cursor is newer than the backup must get an error, or the events since then. */
async function neverSkips(
  reader: Awaited<ReturnType<typeof clientOf>>,
  cursor: string,
  created: string,
): Promise<void> {
  let after = cursor;
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const { status, body } = await reader.call(`/events?cursor=${encodeURIComponent(after)}`);
    if (status === 410) {
      assert.equal((body['error'] as Record<string, unknown>)['code'], 'cursor_from_other_history');
      return;
    }
    assert.equal(status, 200, JSON.stringify(body));
    if (body.items.some((event) => JSON.stringify(event).includes(created))) return;
    after = body['nextCursor'] as string;
    await sleep(50);
  }
  assert.fail('the event was skipped');
}

test('an existing file is not overwritten, and a failed backup leaves no file', async () => {
  const file = join(folder, 'precious');
  writeFileSync(file, 'precious');
  await refused(['backup', file], home, /already exists/);
  assert.equal(readFileSync(file, 'utf8'), 'precious');
  const nowhere = join(folder, 'no', 'such');
  await refused(['backup', nowhere], home, /Cannot write .* \(ENOENT\)/);
  await refused(['backup', join(folder, 'x')], join(folder, 'no-home'), /No Baton data in/);
  const elsewhere = { IAM_DATABASE_URL: 'postgresql://u:hidden-password@127.0.0.1:1/a' };
  await refused(['backup', join(folder, 'x')], home, /its own tools/, elsewhere);
  assert.ok(!readdirSync(folder).some((name) => name.endsWith('.new')));
});

test('unknown arguments are a usage error', async () => {
  for (const args of [['backup'], ['backup', 'a', 'b'], ['restore', 'a', '--force']]) {
    const { code, output } = await run(args, home);
    assert.equal(code, 2);
    assert.match(output, /^Usage: baton (backup|restore) FILE/);
  }
});

longTest(
  'a restore is rejected while Baton runs or if its data exists; --replace keeps the old data',
  async () => {
    const file = join(folder, 'for-replacing');
    assert.equal((await run(['backup', file], home)).code, 0);
    await refused(['restore', file, '--replace'], home, /Another Baton \(process \d+\) is using/);
    const client = await clientOf(home);
    const later = await client.create('after the backup');
    await stopBaton(running);
    await refused(['restore', file], home, /already contains a Baton\. Add --replace/);
    const token = readFileSync(join(home, 'secrets', 'admin-token'), 'utf8');
    const { code, output } = await run(['restore', file, '--replace'], home);
    assert.equal(code, 0, output);
    const [, aside] = /The previous data is in (\S+)\. Remove/.exec(output) ?? [];
    assert.ok(existsSync(join(aside as string, 'postgres', 'data', 'PG_VERSION')));
    assert.equal(statSync(aside as string).mode & 0o077, 0);
    assert.equal(readFileSync(join(aside as string, 'secrets', 'admin-token'), 'utf8'), token);
    running = await startBaton(home);
    const reader = await clientOf(home);
    assert.equal((await reader.call(`/tasks/${later}`)).status, 404);
  },
);

longTest('a Baton that is stopped is backed up, too, and is stopped afterwards', async () => {
  await stopBaton(running);
  const file = join(folder, 'cold');
  const { code, output } = await run(['backup', file], home);
  assert.equal(code, 0, output);
  assert.ok(!existsSync(join(home, 'postgres', 'data', 'postmaster.pid')));
  assert.ok(!existsSync(join(home, 'lock')));

  const whole = readFileSync(file);
  const target = join(folder, 'from-damaged');
  writeFileSync(file, whole.subarray(0, whole.length - 100));
  await refused(['restore', file], target, /damaged or incomplete/);
  writeFileSync(file, 'no backup');
  await refused(['restore', file, '--replace'], home, /not a backup/);
  await refused(['restore', join(folder, 'missing')], target, /Cannot read .* \(ENOENT\)/);
  await refused(['restore', folder], target, /is not a file/);
  assert.ok(!existsSync(target), 'nothing was touched');
  running = await startBaton(home);
});
