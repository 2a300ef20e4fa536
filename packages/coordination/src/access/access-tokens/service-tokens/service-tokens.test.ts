import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { assertTookLess } from '@baton/testing/depth';
import { stopClock } from '../../../testing/clock.ts';
import { until } from '../../../testing/wait-until.ts';
import { createServiceTokens } from './service-tokens.ts';

const clientSecret = 'the-secret-of-the-own-account-4711';
const wanted = { audience: 'memory-service', scopes: ['memory:read', 'memory:write'] };

/** The part of identity that serves `POST /api/v1/tokens/exchange`. */
let answer: () => { status: number; body: string; delayMs?: number };
let asked: { url: string | undefined; body: unknown }[] = [];
const server = createServer(async (req, res) => {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
  asked.push({ url: req.url, body: JSON.parse(text) });
  const { status, body, delayMs = 0 } = answer();
  await sleep(delayMs, undefined, { ref: false });
  res.writeHead(status, { 'content-type': 'application/json' }).end(body);
});
let url = '';
before(async () => {
  keepSecret('client secret', clientSecret);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

let count = 0;
const granted = (expiresIn: number) => () => {
  count += 1;
  const accessToken = `access-token-of-the-tests-${count}`;
  return { status: 200, body: JSON.stringify({ accessToken, tokenType: 'Bearer', expiresIn }) };
};
beforeEach(() => {
  asked = [];
  count = 0;
});

const tokens = (settings: { CP_IAM_BASE_URL?: string; CP_IAM_REQUEST_TIMEOUT_SECONDS?: number } = {}) =>
  createServiceTokens(
    {
      CP_IAM_BASE_URL: url,
      CP_IAM_CLIENT_ID: 'iam_sa_1',
      CP_IAM_CLIENT_SECRET: clientSecret,
      CP_IAM_REQUEST_TIMEOUT_SECONDS: 30,
      ...settings,
    },
    wanted,
  );

test('concurrent callers share one request with client credentials, and the token is cached', async () => {
  answer = () => ({ ...granted(300)(), delayMs: 100 });
  const own = tokens({ CP_IAM_BASE_URL: `${url}/` });
  const got = await Promise.all(Array.from({ length: 20 }, () => own.get()));
  assert.deepEqual([...new Set(got)], ['access-token-of-the-tests-1']);
  assert.equal(await own.get(), 'access-token-of-the-tests-1');
  assert.deepEqual(asked, [
    {
      url: '/api/v1/tokens/exchange',
      body: {
        clientId: 'iam_sa_1',
        clientSecret,
        audience: 'memory-service',
        scopes: ['memory:read', 'memory:write'],
      },
    },
  ]);
});

test('a token is renewed before it expires, while the old one is still used', async (t) => {
  const passTime = stopClock(t);
  answer = granted(3);
  const own = tokens();
  assert.equal(await own.get(), 'access-token-of-the-tests-1');
  passTime(2100);
  assert.equal(await own.get(), 'access-token-of-the-tests-1', 'at once');
  await until(() => asked.length === 2, 'the renewal');
  await until(async () => (await own.get()) === 'access-token-of-the-tests-2', 'the new token');
});

test('a token that was rejected is not returned again', async () => {
  answer = granted(300);
  const own = tokens();
  const first = await own.get();
  own.forget('another');
  assert.equal(await own.get(), first);
  own.forget(first);
  assert.equal(await own.get(), 'access-token-of-the-tests-2');
});

test('after a failure identity is not queried for a second, and for longer after each further failure', async (t) => {
  const passTime = stopClock(t);
  answer = () => ({ status: 401, body: '{"detail":"invalid_client"}' });
  const own = tokens();
  for (let n = 0; n < 5; n += 1)
    await assert.rejects(own.get(), /^Error: identity returned 401 to the token request$/);
  assert.equal(asked.length, 1);
  passTime(1050);
  await assert.rejects(own.get());
  assert.equal(asked.length, 2);
  passTime(1050);
  await assert.rejects(own.get());
  assert.equal(asked.length, 2, 'the second pause is longer');
  answer = granted(300);
  passTime(1050);
  assert.ok(await own.get());
});

test('responses without a valid token are refused, whatever their status, and never repeat the secret', async () => {
  for (const [status, body] of [
    [200, 'nonsense'],
    [200, '{}'],
    [200, '{"accessToken":"with blanks","expiresIn":300}'],
    [200, '{"accessToken":"x","expiresIn":0}'],
    [302, '{}'],
    [500, `{"echo":"${clientSecret}"}`],
  ] as const) {
    answer = () => ({ status, body });
    await assert.rejects(tokens().get(), (error: Error) => {
      assert.match(error.message, /^identity returned (\d+|no usable token)/);
      assert.ok(!error.message.includes(clientSecret));
      return true;
    });
  }
});

test('requests to an unavailable or silent identity time out', async () => {
  const away = `http://127.0.0.1:${await freePort()}`;
  await assert.rejects(tokens({ CP_IAM_BASE_URL: away }).get(), /ECONNREFUSED/);
  answer = () => ({ ...granted(300)(), delayMs: 60_000 });
  const began = performance.now();
  await assert.rejects(tokens({ CP_IAM_REQUEST_TIMEOUT_SECONDS: 1 }).get(), /no response within 1000 ms/);
  assertTookLess(began, 4000);
});
