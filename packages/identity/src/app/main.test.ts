import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '@baton/kernel/testing/database/database';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { migrationsDirectory } from '../service/database.ts';
import { until } from '../testing/waiting.ts';

const main = join(import.meta.dirname, 'main.ts');
/** The module that `baton` also preloads; it halves the startup time. */
const fastStart = new URL('../../../../bin/fast-start.mjs', import.meta.url).href;
const shortSecret = 'short-s3cret';
let database: TestDatabase;
let empty: TestDatabase;
let folder: string;
/** A shared server for tests that don't change it: startup takes over a second of CPU time. */
let shared: Serving;
let metricsPort: string;
const children: ChildProcess[] = [];
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-no-migrations-'));
  [database, empty] = await Promise.all([
    createTestDatabase(migrationsDirectory),
    createTestDatabase(folder),
  ]);
  metricsPort = await freePort();
  shared = await serve({ IAM_BOOTSTRAP_TOKEN: shortSecret, IAM_METRICS_PORT: metricsPort });
});
after(async () => {
  shared.child.kill('SIGTERM');
  assert.equal(await shared.exited, 0);
  for (const child of children) child.kill('SIGKILL');
  await database.drop();
  await empty.drop();
  await rm(folder, { recursive: true });
});

interface Serving {
  child: ChildProcess;
  url: string;
  output(): string;
  exited: Promise<number | null>;
}

function run(env: Record<string, string>, words: readonly string[] = ['serve']) {
  const child = spawn(process.execPath, [`--import=${fastStart}`, main, ...words], {
    env: { IAM_DATABASE_URL: database.url, IAM_PORT: '0', ...env },
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  child.on('close', () => keepLog(output));
  return { child, exited, output: () => output };
}

async function serve(env: Record<string, string> = {}): Promise<Serving> {
  const started = run(env);
  for (;;) {
    const url = /identity listens at ([^"]+)/.exec(started.output())?.[1];
    if (url !== undefined) return { ...started, url };
    if (started.child.exitCode !== null) throw new Error(started.output());
    await new Promise((done) => setTimeout(done, 20));
  }
}

describe('baton identity serve', () => {
  test("listens at the address of IAM_HOST, and fails with one sentence if it can't", async () => {
    // No machine has this address: it is reserved for documentation.
    const { exited, output } = run({ IAM_HOST: '192.0.2.1' });
    assert.equal(await exited, 1);
    assert.match(output(), /Can.t listen on 192\.0\.2\.1:0: this machine has no such address\.$/m);
  });

  test('warns of a short admin secret where others can connect, without printing it', async () => {
    const expectWarning = (output: string, secret: string, isWarned: boolean) => {
      assert.equal(output.includes('IAM_BOOTSTRAP_TOKEN has fewer than 16 characters'), isWarned);
      assert.ok(!output.includes(secret));
    };
    // A short secret causes no warning on the shared server, because it listens on 127.0.0.1.
    expectWarning(shared.output(), shortSecret, false);
    for (const [secret, isWarned] of [
      [shortSecret, true],
      ['a-secret-of-24-characters', false],
    ] as const) {
      const { child, exited, output } = await serve({ IAM_HOST: '0.0.0.0', IAM_BOOTSTRAP_TOKEN: secret });
      expectWarning(output(), secret, isWarned);
      child.kill('SIGTERM');
      assert.equal(await exited, 0);
    }
  });

  test('finishes the request in progress at SIGTERM, then exits with 0', async () => {
    const { child, url, exited } = await serve({ IAM_BOOTSTRAP_TOKEN: 'secret' });
    const body = JSON.stringify({ slug: 'slow', name: 'x' });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk));
    socket.write(
      `POST /api/v1/tenants HTTP/1.1\r\nhost: x\r\nx-iam-bootstrap-token: secret\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    await until(() => answer.startsWith('HTTP/1.1 100 '), 'the request is in progress');
    child.kill('SIGTERM');
    const isClosed = () =>
      fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      );
    await until(isClosed, 'no other request is accepted');
    socket.write(body);
    assert.equal(await exited, 0);
    assert.match(answer, /\r\n\r\nHTTP\/1\.1 201 /);
  });

  test('an idle connection does not keep it from ending', async () => {
    const { child, url, exited } = await serve();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    child.kill('SIGINT');
    assert.equal(await exited, 0);
  });

  test('answers text that is not HTTP in the error envelope', async () => {
    const socket = connect(Number(new URL(shared.url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk));
    socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`);
    await once(socket, 'close');
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 400 [^]*\r\nx-request-id: req_/);
    const problem = { type: 'unreadable', loc: ['header'], msg: 'The headers are too large' };
    assert.deepEqual(JSON.parse(body), { detail: [problem] });
  });

  test('reads the signing key again at SIGHUP', async () => {
    const { child, output } = shared;
    child.kill('SIGHUP');
    await until(() => output().includes('were reloaded'), 'all files are read');
  });

  test('serves /metrics on a port of its own', async () => {
    const { url } = shared;
    const counters = [
      /^iam_presented_credentials_total\{credential="pat",outcome="unknown"\} (\d+)$/m,
      /^http_requests_total\{method="POST",status="401"\} (\d+)$/m,
    ];
    const countersNow = async () => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return counters.map((counter) => Number(counter.exec(text)?.[1] ?? 0));
    };
    const before = await countersNow();
    const token = `iam_pat_0123456789ab_${'x'.repeat(43)}`;
    await fetch(`${url}/api/v1/platform-access-tokens:introspect`, {
      method: 'POST',
      body: JSON.stringify({ token }),
    });
    const after = await countersNow();
    assert.deepEqual(
      after.map((count, n) => count - (before[n] as number)),
      [1, 1],
    );
    assert.equal((await fetch(`http://127.0.0.1:${metricsPort}/`)).status, 404);
    assert.equal((await fetch(`${url}/metrics`)).status, 404);
  });

  test("fails with one sentence if it can't start", async () => {
    const { url } = shared;
    const failures: [Record<string, string>, RegExp][] = [
      [
        { IAM_DATABASE_URL: empty.url },
        /^The database of identity is at revision 0 and needs \d+: run baton identity migrate, or/,
      ],
      [
        { IAM_DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' },
        /^The database of identity \(IAM_DATABASE_URL\) cannot be reached/,
      ],
      [{ IAM_PUBLIC_URL: 'https://a.example/' }, /^IAM_PUBLIC_URL must not end with a slash/],
      [{ IAM_SIGNING_PRIVATE_KEY: 'x' }, /^The signing key is not a private key/],
      [{ IAM_PORT: new URL(url).port }, /^Can't listen on 127\.0\.0\.1:\d+: another program uses it\.$/],
    ];
    const starts = failures.map(([env, sentence]) => ({ sentence, ...run(env) }));
    for (const { sentence, exited, output } of starts) {
      assert.equal(await exited, 1);
      const lines = output()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{'));
      assert.equal(lines.length, 1, output());
      assert.match(lines[0] ?? '', sentence);
    }
  });

  test('migrate --dry-run tries the migrations and changes nothing; any other argument is refused', async () => {
    const env = { IAM_DATABASE_URL: empty.url };
    for (let time = 1; time <= 2; time += 1) {
      const { exited, output } = run(env, ['migrate', '--dry-run']);
      assert.equal(await exited, 0, output());
      assert.match(
        output(),
        /^The database of identity, for revision \d+: would apply 1, .* Nothing was changed\.\n$/,
      );
    }
    const { exited, output } = run(env, ['migrate', '--dryrun']);
    assert.equal(await exited, 1);
    assert.equal(output(), 'Usage: baton identity migrate [--dry-run]\n');
  });

  test('migrates an empty database if the setting allows it, once for several concurrent processes', async () => {
    const env = { IAM_DATABASE_URL: empty.url, IAM_CREATE_SCHEMA_ON_STARTUP: 'true' };
    const both = await Promise.all([serve(env), serve(env)]);
    for (const { child, exited } of both) {
      child.kill('SIGTERM');
      assert.equal(await exited, 0);
    }
  });
});
