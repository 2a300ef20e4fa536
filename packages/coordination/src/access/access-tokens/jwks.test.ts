import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { createLog } from '@baton/kernel/process/log';
import { assertTookLess } from '@baton/testing/depth';
import { stopClock } from '../../testing/clock.ts';
import { listen, startCoordination } from '../../testing/coordination.ts';
import { until } from '../../testing/wait-until.ts';
import { createJwks, type Jwks, KeysUnavailableError } from './jwks.ts';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = (kid: string, changes: object = {}) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  alg: 'RS256',
  ...changes,
});
const log = createLog({ name: 'test', level: 'error', destination: { write: () => undefined } });

let server: Server;
let fetches: number;
let answer: (res: ServerResponse) => void;

before(async () => {
  server = createServer((_req, res) => {
    fetches += 1;
    answer(res);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  fetches = 0;
  publish(jwk('one'));
});

const publish = (...keys: unknown[]) => {
  answer = (res) => res.end(JSON.stringify({ keys }));
};
const fail = () => {
  answer = (res) => res.writeHead(500).end();
};

function keys(options: Partial<Parameters<typeof createJwks>[0]> = {}): Jwks {
  return createJwks({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    refreshAfterMs: 300_000,
    staleAfterMs: 3_600_000,
    minRefreshIntervalMs: 10_000,
    requestTimeoutMs: 30_000,
    algorithms: ['RS256'],
    log,
    ...options,
  });
}

test('concurrent callers share one fetch of the first keys, and fresh keys are not fetched again', async () => {
  const jwks = keys();
  const found = await Promise.all(Array.from({ length: 50 }, () => jwks.find('one')));
  assert.ok(found.every((key) => key !== undefined && key === found[0]));
  await jwks.find('one');
  assert.equal(fetches, 1);
});

test('keys older than the refresh age are used at once and fetched in the background', async (t) => {
  const passTime = stopClock(t);
  const jwks = keys({ refreshAfterMs: 30, minRefreshIntervalMs: 0 });
  const first = await jwks.find('one');
  passTime(50);
  const unanswered: ServerResponse[] = [];
  answer = (res) => void unanswered.push(res);
  assert.equal(await jwks.find('one'), first);
  await until(() => unanswered.length > 0, 'the fetch');
  publish(jwk('one'));
  for (const res of unanswered) answer(res);
  await until(async () => (await jwks.find('one')) !== first, 'the fetched keys');
  assert.equal(fetches, 2);
});

test('an unknown key id causes one immediate fetch, even right after a scheduled one', async () => {
  const jwks = keys();
  await jwks.find('one');
  publish(jwk('two'));
  const found = await Promise.all(Array.from({ length: 20 }, () => jwks.find('two')));
  assert.ok(found.every((key) => key !== undefined));
  assert.equal(await jwks.find('one'), undefined, 'a withdrawn key is no longer found');
  assert.equal(fetches, 2);
});

test('a flood of unknown key ids causes one unscheduled fetch per interval', async (t) => {
  const passTime = stopClock(t);
  const jwks = keys({ minRefreshIntervalMs: 700 });
  await jwks.find('one');
  const flood = () => Promise.all(Array.from({ length: 100 }, (_, n) => jwks.find(`zebra ${n}`)));
  await flood();
  await flood();
  assert.equal(fetches, 2);
  passTime(720);
  await flood();
  assert.equal(fetches, 3);
});

test('while the source is unavailable, known keys are used up to the stale age', async (t) => {
  const passTime = stopClock(t);
  const jwks = keys({ refreshAfterMs: 20, staleAfterMs: 600, minRefreshIntervalMs: 10 });
  await jwks.find('one');
  fail();
  passTime(50);
  assert.ok(await jwks.find('one'));
  await until(() => fetches === 2, 'the fetch in the background');
  passTime(600);
  await assert.rejects(jwks.find('one'), KeysUnavailableError);
  publish(jwk('one'));
  passTime(20);
  assert.ok(await jwks.find('one'));
});

test('an unavailable source is queried once per interval, and all other callers get the failure at once', async (t) => {
  const passTime = stopClock(t);
  fail();
  const jwks = keys({ minRefreshIntervalMs: 700 });
  await Promise.all(Array.from({ length: 20 }, () => assert.rejects(jwks.find('one'), KeysUnavailableError)));
  await assert.rejects(jwks.find('one'), KeysUnavailableError);
  assert.equal(fetches, 1);
  publish(jwk('one'));
  passTime(720);
  assert.ok(await jwks.find('one'));
});

test('before the first success the source is queried once a second, whatever the interval', async (t) => {
  const passTime = stopClock(t);
  fail();
  const jwks = keys({ minRefreshIntervalMs: 60_000 });
  await assert.rejects(jwks.find('one'), KeysUnavailableError);
  publish(jwk('one'));
  passTime(1020);
  assert.ok(await jwks.find('one'));
});

test('a source that does not respond is abandoned after the request timeout', async () => {
  answer = () => undefined;
  const started = performance.now();
  await assert.rejects(keys({ requestTimeoutMs: 300 }).find('one'), KeysUnavailableError);
  assertTookLess(started, 5000);
  answer = (res) => {
    res.write('{"keys":[');
  };
  await assert.rejects(keys({ requestTimeoutMs: 300 }).find('one'), KeysUnavailableError);
});

test('redirects are not followed, and endless or malformed documents are rejected', async () => {
  const wrong: ((res: ServerResponse) => void)[] = [
    (res) => res.writeHead(302, { location: 'http://127.0.0.1:1/keys' }).end(),
    (res) => res.end(JSON.stringify({ keys: [jwk('one')], padding: 'x'.repeat(300 * 1024) })),
    (res) => res.end('<html>'),
    (res) => res.end('null'),
    (res) => res.end('[]'),
    (res) => res.end('{"keys":{}}'),
    (res) => res.writeHead(404).end(JSON.stringify({ keys: [jwk('one')] })),
  ];
  for (const one of wrong) {
    answer = one;
    await assert.rejects(keys().find('one'), KeysUnavailableError);
  }
});

test('keys of another type, use, algorithm or length are skipped, and the others are used', async () => {
  const { privateKey: short } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  publish(
    null,
    7,
    {},
    { kty: 'oct', kid: 'shared', k: 'c2VjcmV0', alg: 'HS256' },
    { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'ec' },
    jwk('encryption', { use: 'enc' }),
    jwk('oaep', { alg: 'RSA-OAEP' }),
    jwk('pss', { alg: 'PS256' }),
    jwk('broken', { n: '!' }),
    jwk('empty', { n: undefined }),
    { ...short.export({ format: 'jwk' }), kid: 'short' },
    { ...jwk('nameless'), kid: undefined },
    jwk('one'),
    jwk('one', { n: 'AQAB' }),
  );
  const jwks = keys();
  assert.ok(await jwks.find('one'), 'the first key with an id is used');
  for (const kid of ['shared', 'ec', 'encryption', 'oaep', 'pss', 'broken', 'empty', 'short', 'undefined'])
    assert.equal(await jwks.find(kid), undefined, kid);
});

test('only the public parts of a document with private keys are used', async () => {
  publish({ ...pair.privateKey.export({ format: 'jwk' }), kid: 'one' });
  assert.equal((await keys().find('one'))?.key.type, 'public');
});

test('beyond the stale age a request gets 503 verification_unavailable with Retry-After', async (t) => {
  const passTime = stopClock(t);
  const baton = await startCoordination();
  const closers: (() => Promise<void>)[] = [];
  const lines: { level: string; msg: string }[] = [];
  const heard = createLog({
    name: 'test',
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const told = () => lines.filter(({ msg }) => /signing keys|failed/.test(msg)).map(({ level }) => level);
  try {
    baton.issuer.serve(false);
    const { url } = await listen({ ...baton.env }, closers, heard);
    const enter = () =>
      fetch(`${url}/api/v1/principals`, { headers: { authorization: `Bearer ${baton.admin.token}` } });
    const refused = await enter();
    const { error } = (await refused.json()) as { error: { code: string; details: object } };
    assert.deepEqual([refused.status, error.code, error.details], [503, 'verification_unavailable', {}]);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    for (let count = 0; count < 20; count += 1) assert.equal((await enter()).status, 503);
    passTime(1050);
    assert.equal((await enter()).status, 503);
    assert.deepEqual(told(), ['error'], 'an outage is logged once, not once per request');
    baton.issuer.serve(true);
    passTime(1050);
    assert.equal((await enter()).status, 200);
    assert.deepEqual(told(), ['error', 'info']);
  } finally {
    for (const close of closers) await close();
    await baton.close();
  }
});
