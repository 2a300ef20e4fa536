import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { OutboundClient } from '@baton/kernel/outbound/outbound';
import { createLog } from '@baton/kernel/process/log';
import { until } from '../../testing/waiting.ts';
import { KeyDocumentError, parseKeySet } from './key-set.ts';
import { type KeySource, ProviderKeys } from './provider-keys.ts';

const log = createLog({ name: 'test', level: 'error', destination: { write: () => undefined } });
const jwkOf = (kid: string, changes: object = {}) => ({ ...ecKey, kid, ...changes });
const ecKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });

let server: Server;
let url: string;
let answer: RequestListener;
let paths: (string | undefined)[];
let nowMs: number;
let keys: ProviderKeys;
before(async () => {
  server = createServer((req, res) => {
    paths.push(req.url);
    answer(req, res);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  paths = [];
  nowMs = 1_000_000;
  publish('first');
  const outbound = new OutboundClient({ allowedHosts: ['127.0.0.1'], timeoutMs: 10_000 });
  keys = new ProviderKeys(outbound, log, () => nowMs);
});

const publish = (...kids: string[]) => {
  const text = JSON.stringify({ keys: kids.map((kid) => jwkOf(kid)) });
  answer = (_req, res) => res.end(text);
};
const breakDown = () => {
  answer = (_req, res) => res.writeHead(500).end();
};
const sourceOf = (changes: Partial<KeySource> = {}): KeySource => ({
  id: 'provider',
  key: 'corporate',
  issuer: url,
  registered_issuer: url,
  key_set: null,
  jwks_uri: `${url}/keys`,
  jwks_cache_ttl_seconds: 300,
  jwks_stale_grace_seconds: 900,
  ...changes,
});
/** The `kid`s found, and whether they are stale; or the code of the refusal. */
async function ask(source = sourceOf()) {
  try {
    const { keys: found, isStale } = await keys.keysOf(source);
    return [[...found.keys()].join(), isStale];
  } catch (error) {
    const { code, headers } = error as { code: string; headers: Record<string, string> };
    return [code, headers['retry-after']];
  }
}
const unavailable = ['identity_provider_unavailable', '5'];

describe('the keys of a provider', () => {
  test('are used from the cache while they are fresh, and fetched again after', async () => {
    assert.deepEqual(await ask(), ['first', false]);
    publish('second');
    nowMs += 239_000;
    assert.deepEqual(await ask(), ['first', false]);
    assert.equal(paths.length, 1);
    nowMs += 62_000;
    assert.deepEqual(await ask(), ['second', false]);
    assert.equal(paths.length, 2);
  });

  test('are fetched in the background near the end of their TTL', async () => {
    await ask();
    publish('second');
    nowMs += 241_000;
    assert.deepEqual(await ask(), ['first', false]);
    await until(async () => (await ask())[0] === 'second', 'they are fetched');
    assert.deepEqual([await ask(), paths.length], [['second', false], 2]);
  });

  test('are used during the grace period while the provider is down; then it is unavailable, until it is back', async () => {
    await ask();
    breakDown();
    nowMs += 300_000;
    assert.deepEqual(await ask(), ['first', true]);
    nowMs += 899_000;
    assert.deepEqual(await ask(), ['first', true]);
    nowMs += 1000;
    assert.deepEqual(await ask(), unavailable);
    publish('second');
    assert.deepEqual(await ask(), ['second', false]);
  });

  test('a provider that is down is unavailable if no keys are cached', async () => {
    breakDown();
    assert.deepEqual(await ask(), unavailable);
  });

  test('with a TTL of 0 are fetched every time; with a grace period of 0 a failure is final at once', async () => {
    const always = sourceOf({ jwks_cache_ttl_seconds: 0 });
    await ask(always);
    await ask(always);
    assert.equal(paths.length, 2);
    breakDown();
    assert.deepEqual(await ask(always), ['first', true]);
    assert.deepEqual(await ask({ ...always, jwks_stale_grace_seconds: 0 }), unavailable);
  });

  test('are fetched once for concurrent callers', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask()));
    assert.ok(answers.every(([found]) => found === 'first'));
    assert.equal(paths.length, 1);
  });

  test('a failure is remembered for as long as it took, so that the next request does not wait', async () => {
    const silent = sourceOf();
    answer = () => {
      nowMs += 5000;
    };
    assert.deepEqual(await ask(silent), unavailable);
    publish('first');
    assert.deepEqual([await ask(silent), paths.length], [unavailable, 1]);
    nowMs += 5001;
    assert.deepEqual(await ask(silent), ['first', false]);
  });

  test('are fetched again for an unknown kid, at most every 10 seconds, once for concurrent callers', async () => {
    const source = sourceOf();
    await keys.keysOf(source);
    publish('second');
    const found = await keys.keysOf(source);
    const beyond = await Promise.all(Array.from({ length: 20 }, () => keys.keysBeyond(source, found)));
    assert.ok(beyond.every((set) => set.has('second')));
    assert.equal(paths.length, 2);
    publish('third');
    nowMs += 9999;
    assert.ok(!(await keys.keysBeyond(source, await keys.keysOf(source))).has('third'));
    nowMs += 1;
    assert.ok((await keys.keysBeyond(source, await keys.keysOf(source))).has('third'));
    assert.equal(paths.length, 3);
  });

  test('are kept if the fetch for an unknown kid fails, and not fetched twice for one request', async () => {
    const source = sourceOf();
    const first = await keys.keysOf(source);
    assert.ok(first.isNew);
    await keys.keysBeyond(source, first);
    assert.equal(paths.length, 1);
    breakDown();
    assert.ok((await keys.keysBeyond(source, await keys.keysOf(source))).has('first'));
    assert.equal(paths.length, 2);
  });

  test('are forgotten when the addresses of the provider change', async () => {
    await ask();
    publish('elsewhere');
    assert.deepEqual(await ask(sourceOf({ jwks_uri: `${url}/moved` })), ['elsewhere', false]);
    assert.deepEqual(paths, ['/keys', '/moved']);
  });

  test('are cached for 1,000 providers at most', async () => {
    for (let n = 0; n <= 1000; n += 1) await ask(sourceOf({ id: `provider-${n}` }));
    assert.equal(paths.length, 1001);
    await ask(sourceOf({ id: 'provider-1000' }));
    assert.equal(paths.length, 1001);
    await ask(sourceOf({ id: 'provider-0' }));
    assert.equal(paths.length, 1002);
  });
});

describe('discovery', () => {
  const discovering = () =>
    sourceOf({ jwks_uri: '', issuer: `${url}/realm`, registered_issuer: `${url}/realm/` });
  const describeAs = (document: unknown) => {
    answer = (req, res) => {
      const isKeys = req.url === '/keys';
      res.end(JSON.stringify(isKeys ? { keys: [jwkOf('found')] } : document));
    };
  };

  test('finds the key document if it names the issuer, as registered or without its slash', async () => {
    describeAs({ issuer: `${url}/realm`, jwks_uri: `${url}/keys` });
    assert.deepEqual(await ask(discovering()), ['found', false]);
    assert.deepEqual(paths, ['/realm/.well-known/openid-configuration', '/keys']);
    describeAs({ issuer: `${url}/realm/`, jwks_uri: `${url}/keys` });
    assert.deepEqual(await ask({ ...discovering(), id: 'other' }), ['found', false]);
  });

  test('refuses a document of another issuer, without keys, or with a forbidden address', async () => {
    for (const [index, document] of [
      { issuer: `${url}/other`, jwks_uri: `${url}/keys` },
      { issuer: url.toUpperCase(), jwks_uri: `${url}/keys` },
      { jwks_uri: `${url}/keys` },
      { issuer: `${url}/realm` },
      { issuer: `${url}/realm`, jwks_uri: '' },
      { issuer: `${url}/realm`, jwks_uri: ['x'] },
      { issuer: `${url}/realm`, jwks_uri: url.replace('127.0.0.1', 'localhost') },
      { issuer: `${url}/realm`, jwks_uri: 'file:///etc/passwd' },
      null,
      [],
    ].entries()) {
      describeAs(document);
      assert.deepEqual(await ask({ ...discovering(), id: `provider-${index}` }), unavailable, String(index));
    }
  });
});

describe('a key document', () => {
  const kidsOf = (...jwks: unknown[]) => [...parseKeySet({ keys: jwks }).keys()];

  test('yields public RSA, EC and Ed25519 keys for signatures', () => {
    assert.deepEqual(
      kidsOf({ ...rsaKey, kid: 'r', use: 'sig', alg: 'RS256' }, jwkOf('e', { key_ops: ['verify'] }), {
        ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
        kid: 'ed',
      }),
      ['r', 'e', 'ed'],
    );
    const [found] = parseKeySet({ keys: [jwkOf('private', { d: 'AAAA' })] }).values();
    assert.equal(found?.key.type, 'public');
  });

  test('unusable keys are left out, and keys that share a kid', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    const secret = { kty: 'oct', k: 'c2VjcmV0', kid: 'secret', alg: 'HS256' };
    const edwards = { ...generateKeyPairSync('ed448').publicKey.export({ format: 'jwk' }), kid: 'ed' };
    const encrypting = jwkOf('enc', { use: 'enc' });
    const wrapping = jwkOf('wrap', { key_ops: ['wrapKey'] });
    const broken = jwkOf('broken', { x: 'AAAA' });
    const nameless = [ecKey, jwkOf(''), { ...ecKey, kid: 7 }, null, 'key'];
    const odd = jwkOf('odd', { alg: 1 });
    assert.deepEqual(
      kidsOf({ ...weak, kid: 'weak' }, secret, edwards, encrypting, wrapping, broken, odd, ...nameless),
      [],
    );
    assert.deepEqual(kidsOf(jwkOf('twice'), jwkOf('once'), { ...rsaKey, kid: 'twice' }), ['once']);
    assert.deepEqual(kidsOf(broken, jwkOf('broken')), []);
    assert.deepEqual(kidsOf(jwkOf('thrice'), jwkOf('thrice'), jwkOf('thrice')), []);
  });

  test('is refused if it is malformed or has more than 100 keys', () => {
    for (const document of [null, [], {}, { keys: {} }, 'keys', { keys: Array(101).fill(ecKey) }])
      assert.throws(() => parseKeySet(document), KeyDocumentError);
    assert.deepEqual(kidsOf(), []);
  });
});
