import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { runProgram } from '../../program.ts';

/** Fake responses of both services; the real services have tests of their own. */
const item = {
  id: '00000000-0001-8000-8000-000000000007',
  eventId: '0190c0de-0000-7000-8000-000000000001',
  type: 'task.claimed',
  sink: 'ci',
  attempts: 8,
  lastError: 'answered 500',
  nextAttemptAt: null as string | null,
};
let answer: object = {};
let answerTo = (_url: string): object => answer;
const sent: { call: string; hasKey: boolean; body: unknown }[] = [];
const server = createServer(async (req, res) => {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
  const isExchange = req.url?.endsWith(':exchange') === true;
  if (!isExchange)
    sent.push({
      call: `${req.method} ${req.url}`,
      hasKey: req.headers['idempotency-key'] !== undefined,
      body: text === '' ? undefined : JSON.parse(text),
    });
  const told = isExchange ? { accessToken: 'a.b.c', expiresIn: 300 } : answerTo(req.url ?? '');
  res.writeHead('error' in told ? 404 : 200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(told));
});

let home: string;
before(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  home = mkdtempSync(join(tmpdir(), 'baton-cli-outbox-'));
  const rest = { issuer: 'i', tenantId: 't', iamBootstrapToken: 'b', adminToken: 'hush' };
  const connection = { ...rest, coordinationUrl: url, identityUrl: `${url}/iam` };
  writeFileSync(join(home, 'connection.json'), JSON.stringify(connection));
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true });
});
beforeEach(() => {
  sent.length = 0;
  answerTo = () => answer;
});

async function run(...args: string[]) {
  const lines: string[] = [];
  const output = {
    line: (text: string) => void lines.push(text),
    progress: () => undefined,
    isTerminal: false,
    columns: 80,
  };
  const code = await runProgram(['operations', 'outbox', ...args], {
    config: { home, environment: {} },
    output,
  });
  process.exitCode = 0;
  return { code, lines };
}
const line = `${item.id}  ci  task.claimed  8 attempts  dead letter  answered 500`;

test('list prints one line per event, and the option for the next page', async () => {
  answer = { items: [item], nextCursor: 'next' };
  const { code, lines } = await run('list', '--status', 'dead', '--cursor', 'here');
  assert.deepEqual([code, lines], [0, [line, 'There are more: --cursor next']]);
  assert.equal(sent[0]?.call, 'GET /api/v1/operations/outbox?limit=50&status=dead&cursor=here');
  answer = { items: [], nextCursor: null };
  assert.deepEqual((await run('list')).lines, ['No event is pending.']);
  assert.deepEqual((await run('list', '--json')).lines, ['{"items":[],"nextCursor":null}']);
  assert.equal((await run('list', '--status', 'other')).code, 2);
});

test('redrive and drop send their reasons under a key', async () => {
  answer = { ...item, nextAttemptAt: '2026-11-22T10:00:00.000Z', lastError: null };
  assert.deepEqual((await run('redrive', item.id)).lines, [
    `retried: ${item.id}  ci  task.claimed  8 attempts  next 2026-11-22T10:00:00.000Z`,
  ]);
  answer = item;
  assert.deepEqual((await run('drop', item.id, '--reason', 'no use')).lines, [`dropped: ${line}`]);
  const path = `POST /api/v1/operations/outbox/${item.id}`;
  assert.deepEqual(sent, [
    { call: `${path}:redrive`, hasKey: true, body: { reason: 'operator_redrive' } },
    { call: `${path}:drop`, hasKey: true, body: { reason: 'no use' } },
  ]);
  assert.equal((await run('drop', item.id)).code, 2);
});

test('redrive --all goes through every page, and skips events that no longer exist', async () => {
  const ids = ['a', 'b', 'c', 'd'];
  answerTo = (url) => {
    if (url.includes('/b:redrive')) return { error: { code: 'not_found', message: 'not there' } };
    if (url.includes(':redrive')) return { ...item, nextAttemptAt: '2026-11-22T10:00:00.000Z' };
    const isFirst = !url.includes('cursor=');
    const page = isFirst ? ids.slice(0, 2) : ids.slice(2);
    return {
      items: page.map((id) => ({ ...item, id, sink: id === 'd' ? 'other' : 'ci' })),
      nextCursor: isFirst ? 'more/1' : null,
    };
  };
  assert.deepEqual((await run('redrive', '--all', '--reason', 'mended')).lines, ['3 events are retried.']);
  const list = 'GET /api/v1/operations/outbox?status=dead&limit=200';
  const calls = () => sent.map(({ call }) => call.replace('POST /api/v1/operations/outbox/', ''));
  assert.deepEqual(calls(), [
    list,
    'a:redrive',
    'b:redrive',
    `${list}&cursor=more%2F1`,
    'c:redrive',
    'd:redrive',
  ]);
  const posts = sent.filter(({ call }) => call.startsWith('POST'));
  assert.ok(posts.every(({ hasKey, body }) => hasKey && (body as { reason: string }).reason === 'mended'));
  sent.length = 0;
  assert.deepEqual((await run('redrive', '--all', '--sink', 'other', '--json')).lines, ['{"redriven":1}']);
  assert.deepEqual(
    calls().filter((call) => call.endsWith(':redrive')),
    ['d:redrive'],
  );
  assert.equal((await run('redrive')).code, 1);
  assert.equal((await run('redrive', 'a', '--all')).code, 1);
  assert.equal((await run('redrive', 'a', '--sink', 'ci')).code, 1);
});
