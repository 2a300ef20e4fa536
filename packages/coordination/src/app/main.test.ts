import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { databaseIn } from '@baton/kernel/testing/database/database';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { assertTookLess, isLongProof } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { programEnv } from '../testing/programs/service-processes.ts';
import { until, untilBlockedBy } from '../testing/wait-until.ts';

let baton: TestCoordination;
const children: ChildProcess[] = [];

before(async () => {
  baton = await startCoordination();
});
after(async () => {
  if (shared) {
    const { child, ended, output } = await shared;
    child.kill('SIGTERM');
    assert.equal(await ended, 0, output());
  }
  for (const child of children) child.kill('SIGKILL');
  await baton.close();
});

interface Program {
  child: ChildProcess;
  output: () => string;
  /** Resolves with the match as soon as the program has printed it. */
  printed(form: RegExp): Promise<RegExpExecArray>;
  ended: Promise<number | null>;
}

function run(file: string, args: string[], env: Record<string, string>): Program {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, file), ...args],
    { env: { ...env, ...programEnv() }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  child.on('close', () => keepLog(text));
  return {
    child,
    output: () => text,
    async printed(form) {
      const printed = until(() => form.test(text), `${form}`);
      await printed.catch(() => assert.fail(`never printed ${form}: ${text}`));
      return form.exec(text) as RegExpExecArray;
    },
    ended: once(child, 'close').then(([code]) => code as number | null),
  };
}

async function serve(env: Record<string, string>) {
  const program = run('main.ts', ['serve'], { ...env, CP_PORT: '0', CP_LOG_LEVEL: 'info' });
  const [, url] = await program.printed(/"url":"(http:[^"]+)"/);
  return { ...program, url: url as string };
}

test('baton coordination serve responds on its port and finishes requests in progress at SIGTERM', async () => {
  const { url, child, ended, output } = await serve(baton.env);
  assert.equal((await fetch(`${url}/health/ready`)).status, 200);

  // The response waits for the table, so the request is in progress when the signal arrives.
  const answer = await baton.pool.transaction(async (tx) => {
    await tx.run({ text: 'lock table tasks in access exclusive mode', values: [] });
    const asked = fetch(`${url}/api/v1/tasks/TASK-000001`, {
      headers: { authorization: `Bearer ${baton.admin.token}` },
    });
    await untilBlockedBy(tx, baton, asked);
    child.kill('SIGTERM');
    const isRefused = () =>
      fetch(`${url}/health/live`).then(
        async (answer) => {
          await answer.text();
          return false;
        },
        () => true,
      );
    await until(isRefused, 'the refusal of new connections while it stops');
    return { asked };
  });
  const { status } = await answer.asked;
  assert.equal(status, 404);
  assert.equal(await ended, 0, output());
});

test('a duplicated signal does not cut the shutdown short', async () => {
  const { url, child, ended, output } = await serve(baton.env);
  const answer = await baton.pool.transaction(async (tx) => {
    await tx.run({ text: 'lock table tasks in access exclusive mode', values: [] });
    const asked = fetch(`${url}/api/v1/tasks/TASK-000001`, {
      headers: { authorization: `Bearer ${baton.admin.token}` },
    });
    await untilBlockedBy(tx, baton, asked);
    for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) {
      child.kill(signal);
      // On a busy machine this pause can take a second, after which the next signal counts as intentional.
      if (isLongProof) await new Promise((done) => setTimeout(done, 50));
    }
    return { asked };
  });
  assert.equal((await answer.asked).status, 404);
  assert.equal(await ended, 0, output());
  assert.equal(output().match(/stopping: /g)?.length, 1);
});

test('a second intentional signal ends a shutdown that takes too long', async () => {
  const { url, child, ended, printed } = await serve(baton.env);
  await baton.pool.transaction(async (tx) => {
    await tx.run({ text: 'lock table tasks in access exclusive mode', values: [] });
    const asked = fetch(`${url}/api/v1/tasks/TASK-000001`, {
      headers: { authorization: `Bearer ${baton.admin.token}` },
    });
    await untilBlockedBy(tx, baton, asked);
    child.kill('SIGINT');
    await printed(/stopping: /);
    await new Promise((done) => setTimeout(done, 1200));
    child.kill('SIGINT');
    await assert.rejects(asked);
    assert.equal(await ended, 1);
  });
});

let shared: ReturnType<typeof serve> | undefined;
/** The next three tests share one process; the last one stops it, or `after` if it did not run. */
function serveShared() {
  shared ??= serve({ ...baton.env, CP_TRUSTED_PROXIES: '["127.0.0.0/8"]' });
  return shared;
}

test('baton coordination serve logs the address of the client behind trusted proxies', async () => {
  const { url, printed } = await serveShared();
  const headers = { authorization: 'Bearer nonsense', 'x-forwarded-for': '1.1.1.1, 203.0.113.9' };
  assert.equal((await fetch(`${url}/api/v1/tasks`, { headers })).status, 401);
  const [line] = await printed(/.*"address":"[^\n]*/);
  assert.match(line, /"address":"203\.0\.113\.9"/);
});

test('requests with oversized headers get the usual error body', async () => {
  const { url } = await serveShared();
  const answer = await fetch(`${url}/health/live`, { headers: { 'x-big': 'a'.repeat(20_000) } });
  assert.equal(answer.status, 400);
  const { error } = (await answer.json()) as { error: { code: string; details: unknown; requestId: string } };
  assert.equal(error.code, 'invalid_request');
  assert.deepEqual(error.details, { errors: [{ loc: 'header', message: 'The headers are too large' }] });
  assert.equal(answer.headers.get('x-request-id'), error.requestId);
});

test('without requests in progress a shutdown is immediate, even with idle keep-alive connections', async () => {
  const { url, child, ended } = await serveShared();
  await (await fetch(`${url}/health/live`)).text();
  const toldAt = performance.now();
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  assertTookLess(toldAt, 3000);
});

test('a port in use ends the start with one sentence and a non-zero exit code', async () => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const program = run('main.ts', ['serve'], { ...baton.env, CP_PORT: String(port) });
  assert.equal(await program.ended, 1);
  assert.match(
    program.output(),
    new RegExp(`^Can't listen on 127.0.0.1:${port}: another program uses it.$`, 'm'),
  );
  await new Promise((done) => server.close(done));
});

test('an invalid setting ends the start with one sentence', async () => {
  const program = run('main.ts', ['serve'], { ...baton.env, CP_PORT: 'many' });
  assert.equal(await program.ended, 1);
  assert.equal(program.output(), 'CP_PORT must be an integer from 0 to 65535.\n');
});

test('serve does not migrate; baton coordination migrate does, and a repeat changes nothing', async () => {
  const name = `baton_main_${process.pid}`;
  await baton.pool.run({ text: `create database ${name} template template0`, values: [] });
  const env = { ...baton.env, CP_DATABASE_URL: databaseIn(baton.databaseUrl, name) };
  const { url, child, ended } = await serve(env);
  const pending = await fetch(`${url}/health/ready`);
  assert.equal(pending.status, 503);
  assert.equal(((await pending.json()) as { reason: string }).reason, 'migrations_pending');

  const first = run('main.ts', ['migrate'], env);
  assert.equal(await first.ended, 0, first.output());
  assert.match(first.output(), /^The database of coordination is at revision \d+: applied 1/);
  const second = run('main.ts', ['migrate'], env);
  assert.equal(await second.ended, 0);
  assert.match(second.output(), /nothing to do\.$/m);

  assert.equal((await fetch(`${url}/health/ready`)).status, 200);
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  await baton.pool.run({ text: `drop database ${name} with (force)`, values: [] });
});

test('an unknown command prints the usage and exits with 2', async () => {
  const program = run('main.ts', ['dance'], baton.env);
  assert.equal(await program.ended, 2);
  assert.match(program.output(), /^Usage: baton coordination/);
});

test('baton worker runs until SIGTERM', async () => {
  const program = run('worker.main.ts', [], { ...baton.env, CP_LOG_LEVEL: 'info' });
  await program.printed(/the worker is running/);
  // A single Ctrl-C can arrive more than once.
  program.child.kill('SIGTERM');
  program.child.kill('SIGTERM');
  program.child.kill('SIGINT');
  assert.equal(await program.ended, 0, program.output());
});
