import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { runProgram } from '../../program.ts';

/** Fake responses of both services; the real services have tests of their own. */
const running = {
  consumer: 'context-adapter',
  tenantId: '0190c0de-0000-7000-8000-000000000001',
  cursor: 'ec1_9',
  lagEvents: 3,
  lagCapped: false,
  parked: false,
  parkedAt: null as string | null,
  parkedReason: null as string | null,
  parkedEventId: null as string | null,
  failureCount: 0,
  nextAttemptAt: null as string | null,
  deliveredTotal: 12,
  lastDeliveryAt: '2026-11-22T10:00:00.000Z',
};
let state: object = running;
const sent: { call: string; key: unknown; body: unknown }[] = [];
const server = createServer(async (req, res) => {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
  const isExchange = req.url?.endsWith(':exchange') === true;
  if (!isExchange)
    sent.push({
      call: `${req.method} ${req.url}`,
      key: req.headers['idempotency-key'],
      body: text === '' ? undefined : JSON.parse(text),
    });
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(isExchange ? { accessToken: 'a.b.c', expiresIn: 300 } : state));
});

let home: string;
before(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  home = mkdtempSync(join(tmpdir(), 'baton-cli-adapter-'));
  writeFileSync(
    join(home, 'connection.json'),
    JSON.stringify({
      issuer: 'i',
      tenantId: 't',
      iamBootstrapToken: 'b',
      adminToken: 'hush',
      coordinationUrl: url,
      identityUrl: `${url}/iam`,
    }),
  );
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true });
});
beforeEach(() => {
  state = running;
  sent.length = 0;
});

async function adapter(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const output = {
    line: (text: string) => void lines.push(text),
    progress: () => {},
    isTerminal: false,
    columns: 80,
  };
  const context = { config: { home, environment: {} }, output };
  assert.equal(await runProgram(['operations', 'adapter', ...args], context), 0);
  return lines;
}

const path = '/api/v1/operations/context-adapter';

test('show reports the progress of the delivery to the memory service', async () => {
  assert.deepEqual(await adapter('show'), [
    'Delivered: 12 events, the last at 2026-11-22T10:00:00.000Z.',
    'Behind: 3 events, after ec1_9.',
  ]);
  assert.deepEqual(JSON.parse((await adapter('show', '--json'))[0] as string), running);
  state = { ...running, lagEvents: 1000, lagCapped: true };
  assert.match((await adapter('show'))[1] as string, /^Behind: more than 1000 events/);
  state = { ...running, deliveredTotal: 0, lastDeliveryAt: null };
  assert.equal((await adapter('show'))[0], 'Delivered: 0 events.');
  state = { ...running, cursor: null };
  assert.deepEqual(await adapter('show'), ['The context adapter has not run yet.']);
});

test('show reports where and why the delivery is on hold', async () => {
  state = {
    ...running,
    parked: true,
    parkedAt: '2026-11-22T10:01:00.000Z',
    parkedReason: 'the memory service answered 503',
    parkedEventId: 'e-1',
    failureCount: 2,
    nextAttemptAt: '2026-11-22T10:02:00.000Z',
  };
  assert.deepEqual((await adapter('show')).slice(2), [
    'On hold since 2026-11-22T10:01:00.000Z at event e-1, after 2 failed attempts.',
    'Reason: the memory service answered 503',
    'Next retry at 2026-11-22T10:02:00.000Z.',
  ]);
});

test("redrive and rebuild use the caller's tenant, send the values of the options, and use a key", async () => {
  assert.equal((await adapter('redrive', '--reason', 'mended'))[0], 'It is retried now.');
  assert.equal((await adapter('rebuild', '--cursor', 'ec1_3'))[0], 'The delivery starts again now.');
  await adapter('rebuild');
  const posts = sent.filter(({ call }) => call.startsWith('POST'));
  assert.deepEqual(
    posts.map(({ call, body }) => [call, body]),
    [
      [`POST ${path}/${running.tenantId}:redrive`, { reason: 'mended' }],
      [`POST ${path}/${running.tenantId}:rebuild`, { cursor: 'ec1_3' }],
      [`POST ${path}/${running.tenantId}:rebuild`, {}],
    ],
  );
  for (const { key } of posts) assert.match(String(key), /^[0-9a-f]{32}$/);
});
