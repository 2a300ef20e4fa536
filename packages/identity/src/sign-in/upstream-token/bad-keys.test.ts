import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { assertTookLess } from '@baton/testing/depth';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { blocksOf, bytesOf, encode, modulusOf, rsa, signedToken } from '../federation/testing/forger.ts';
import { assertRefused } from '../federation/testing/refusals.ts';
import { makeRealm, newSubject, type Realm, signInBy } from '../federation/testing/sign-in.ts';
import {
  claimsOf,
  jwkOf,
  makePair,
  type SigningPair,
  upstreamAudience,
} from '../federation/testing/upstream.ts';

/** Key documents that a broken or hostile provider could publish, with tokens that their keys have signed. */

const good = makePair('good');
const curve = makePair('curve', 'ES256');

let identity: TestIdentity;
let issuer: string;
let answer: RequestListener;
let asked: string[];
const server = createServer((req, res) => {
  asked.push(req.url ?? '');
  answer(req, res);
});
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  await identity.close();
  server.closeAllConnections();
  server.close();
});

/** A new provider, so that no other document is cached for it. */
function realmWith(document: unknown): Promise<Realm> {
  answer = (_req, res) => res.end(typeof document === 'string' ? document : JSON.stringify(document));
  asked = [];
  return makeRealm(identity, { issuer }, { jwksUri: `${issuer}/keys` });
}

function signedBy({ kid, alg, privateKey }: SigningPair): string {
  const text = `${encode({ alg, kid })}.${encode(claimsOf(issuer, { sub: newSubject() }))}`;
  if (alg === 'RS256') return signedToken(text, rsa(text, privateKey));
  return signedToken(
    text,
    createSign('sha256').update(text).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' }),
  );
}

const rsaPair = (kid: string, modulusLength: number): SigningPair => ({
  kid,
  alg: 'RS256',
  ...generateKeyPairSync('rsa', { modulusLength }),
});

/**
 * While these keys are published, the provider's tokens have an unknown key, except those of a valid key in the same
 * document.
 */
async function leavesOut(keys: Record<string, object>, pair: SigningPair = good): Promise<void> {
  for (const [name, key] of Object.entries(keys)) {
    const realm = await realmWith({ keys: [key, jwkOf(curve)] });
    await assertRefused(identity, realm, 'unknown_signing_key', 401, { [name]: signedBy(pair) });
    assert.equal((await signInBy(identity, realm, signedBy(curve))).status, 200, name);
  }
}

test('an RSA key of less than 2,048 bits is left out', async () => {
  // 512 bits are too few for the padding of anything longer. OpenSSL still creates such keys.
  for (const bits of [512, 1024, 2040]) {
    const weak = rsaPair('weak', bits);
    await leavesOut({ [`${bits} bits`]: jwkOf(weak) }, weak);
  }
  // The same key with leading zeros: its encoding is as long as that of a strong key.
  const weak = rsaPair('weak', 1024);
  const n = Buffer.concat([Buffer.alloc(128), bytesOf(modulusOf(weak.publicKey), 128)]);
  await leavesOut({ '1,024 bits with zeros before them': jwkOf(weak, { n: n.toString('base64url') }) }, weak);
});

test('an RSA key with a weak exponent or modulus, or an expensive one, is left out', async () => {
  const n = modulusOf(good.publicKey);
  const exponent = (e: bigint, length = 1) => jwkOf(good, { e: bytesOf(e, length).toString('base64url') });
  const modulus = (changed: bigint, length = 256) =>
    jwkOf(good, { n: bytesOf(changed, length).toString('base64url') });
  await leavesOut({
    'e = 0': exponent(0n),
    'e = 1': exponent(1n),
    'e = 1 with zeros before it': exponent(1n, 4),
    'e = 2': exponent(2n),
    'e = 65536': exponent(65_536n, 3),
    'e as long as the modulus': exponent(n - 2n, 256),
    'no e': jwkOf(good, { e: undefined }),
    'an empty e': jwkOf(good, { e: '' }),
    'e that is a number': jwkOf(good, { e: 65_537 }),
    'an even modulus': modulus(n - 1n),
    'a power of two': modulus(1n << 2047n),
    'a modulus of zeros': modulus(0n),
    'no modulus': jwkOf(good, { n: undefined }),
    'a modulus of 32,768 bits': modulus((n << 30_720n) + 1n, 4096),
  });
});

test('with e = 1 the padded hash itself would be a signature', async () => {
  const realm = await realmWith({ keys: [jwkOf(good, { e: 'AQ' }), jwkOf(curve)] });
  const text = `${encode({ alg: 'RS256', kid: 'good' })}.${encode(claimsOf(issuer, { sub: newSubject() }))}`;
  await assertRefused(identity, realm, 'unknown_signing_key', 401, {
    'the block': signedToken(text, blocksOf(text).right),
  });
});

test('a key for another use is left out', async () => {
  await leavesOut({
    'for encryption': jwkOf(good, { use: 'enc' }),
    'for something unknown': jwkOf(good, { use: 'x' }),
    'use null': jwkOf(good, { use: null }),
    'a list as use': jwkOf(good, { use: ['sig'] }),
    'to sign only': jwkOf(good, { key_ops: ['sign'] }),
    'to encrypt': jwkOf(good, { key_ops: ['encrypt', 'wrapKey'] }),
    'for nothing': jwkOf(good, { key_ops: [] }),
    'key_ops that is a text': jwkOf(good, { key_ops: 'sign' }),
    'key_ops null': jwkOf(good, { key_ops: null }),
    'alg that is a list': jwkOf(good, { alg: ['RS256'] }),
    'alg null': jwkOf(good, { alg: null }),
    'another kind': jwkOf(good, { kty: 'rsa' }),
    'no kind': jwkOf(good, { kty: undefined }),
    'a curve of the other kind': jwkOf(good, { kty: 'EC', crv: 'P-256' }),
    'a symmetric key': { kty: 'oct', k: encode('secret of the forger'), kid: 'good', alg: 'HS256' },
    'an Edwards key of another curve': jwkOf({ ...good, ...generateKeyPairSync('ed448') }),
    'a key for key agreement': jwkOf({ ...good, ...generateKeyPairSync('x25519') }),
    'a kid of another type': jwkOf(good, { kid: ['good'] }),
    'a kid in other letters': jwkOf(good, { kid: 'GOOD' }),
    null: [null],
  });
});

test('a key that names another algorithm does not verify this one', async () => {
  for (const alg of ['RS384', 'RS512', 'PS256', 'HS256', 'none', 'RSA-OAEP', 'rs256', '']) {
    const realm = await realmWith({ keys: [jwkOf(good, { alg })] });
    await assertRefused(identity, realm, 'invalid_signature', 401, { [`alg ${alg}`]: signedBy(good) });
  }
});

test('a key whose point is not on its curve is left out', async () => {
  const { x, y } = curve.publicKey.export({ format: 'jwk' });
  const points: Record<string, object> = {
    zero: { x: encode(Buffer.alloc(32)), y: encode(Buffer.alloc(32)) },
    'x and y exchanged': { x: y, y: x },
    'x twice': { x, y: x },
    'no y': { x, y: undefined },
    'the sign of y only': { x, y: 'Ag' },
    'of another curve': { x, y, crv: 'P-384' },
    'of an unknown curve': { x, y, crv: 'P-999' },
  };
  for (const [name, point] of Object.entries(points)) {
    const realm = await realmWith({ keys: [jwkOf(curve, point), jwkOf(good)] });
    await assertRefused(identity, realm, 'unknown_signing_key', 401, { [name]: signedBy(curve) });
    assert.equal((await signInBy(identity, realm, signedBy(good))).status, 200, name);
  }
});

test('of a private key in the document only its public half is used, and nothing of it is stored', async () => {
  const realm = await realmWith({ keys: [{ ...good.privateKey.export({ format: 'jwk' }), kid: 'good' }] });
  assert.equal((await signInBy(identity, realm, signedBy(good))).status, 200);
  const { d } = good.privateKey.export({ format: 'jwk' });
  assert.ok(!identity.logged.join('').includes(d as string));
});

test('keys with the same kid are left out, whatever their number and order', async () => {
  const twin = makePair('good');
  const dead = jwkOf(good, { use: 'enc' });
  const documents: Record<string, object[]> = {
    'two keys': [jwkOf(good), jwkOf(twin)],
    'the same key twice': [jwkOf(good), jwkOf(good)],
    'three keys': [jwkOf(good), jwkOf(twin), jwkOf(good)],
    'another between': [jwkOf(good), jwkOf(curve), jwkOf(twin)],
    'one for encryption, then one for signatures': [dead, jwkOf(good)],
  };
  for (const [name, keys] of Object.entries(documents)) {
    const realm = await realmWith({ keys });
    const tokens = { [name]: signedBy(good), [`${name}, signed by the other`]: signedBy(twin) };
    await assertRefused(identity, realm, 'unknown_signing_key', 401, tokens);
  }
});

test('an empty, malformed or oversized document makes the provider unavailable', async () => {
  const key = jwkOf(good);
  const documents: Record<string, unknown> = {
    'no JSON': '{',
    empty: '',
    null: 'null',
    'a list': [key],
    'one key, not in a list': key,
    'keys that is an object': { keys: { 0: key, length: 1 } },
    'a page': '<html></html>',
    '101 keys': { keys: Array(101).fill(key) },
    'thousands of keys': `{"keys":[${Array(5000).fill('{"kid":"a"}').join()}]}`,
    'more than 256 KiB': { keys: [key], x: 'x'.repeat(262_144) },
    'more than 256 KiB of spaces': `${JSON.stringify({ keys: [key] })}${' '.repeat(262_144)}`,
    'lists 100,000 deep': `{"keys":[${JSON.stringify(key)}],"x":${'['.repeat(100_000)}`,
  };
  for (const [name, document] of Object.entries(documents))
    await assertRefused(identity, await realmWith(document), 'identity_provider_unavailable', 503, {
      [name]: signedBy(good),
    });
  const full = await realmWith({
    keys: [...Array.from({ length: 99 }, (_, n) => jwkOf(curve, { kid: `k${n}` })), key],
  });
  assert.equal((await signInBy(identity, full, signedBy(good))).status, 200);
});

test('a provider that redirects, compresses, answers slowly or without end is unavailable', async () => {
  const document = JSON.stringify({ keys: [jwkOf(good)] });
  const listeners: Record<string, RequestListener> = {
    'a redirect to itself': (req, res) =>
      req.url === '/moved' ? res.end(document) : res.writeHead(302, { location: '/moved' }).end(),
    'a redirect to another host': (_req, res) =>
      res.writeHead(307, { location: 'http://localhost:1/keys' }).end(document),
    'a page behind a status': (_req, res) => res.writeHead(203).end(document),
    'packed bytes': (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    'a document that never ends': (_req, res) => {
      const more = () => res.write('x'.repeat(65_536)) && setImmediate(more);
      res.on('drain', more);
      more();
    },
    'a document cut off': (_req, res) => {
      res.writeHead(200, { 'content-length': '100000' }).write(document);
      setImmediate(() => res.destroy());
    },
    'a byte now and then': (_req, res) => {
      const timer = setInterval(() => res.write(' '), 100);
      res.on('close', () => clearInterval(timer));
    },
  };
  for (const [name, listener] of Object.entries(listeners)) {
    const realm = await realmWith({});
    answer = listener;
    const startedMs = performance.now();
    await assertRefused(identity, realm, 'identity_provider_unavailable', 503, { [name]: signedBy(good) });
    // The request for the keys times out after five seconds. The second route must not wait for them again, or both
    // would take ten.
    assertTookLess(startedMs, 9500, name);
    assert.ok(!asked.includes('/moved'));
  }
});

test('the metadata of a key does not replace checks of the token', async () => {
  const realm = await realmWith({
    keys: [{ ...jwkOf(good), issuer: 'https://other.example', aud: 'other' }],
  });
  const text = `${encode({ alg: 'RS256', kid: 'good' })}.${encode(claimsOf('https://other.example', { aud: [upstreamAudience] }))}`;
  await assertRefused(identity, realm, 'invalid_issuer', 401, {
    'the issuer of a key': signedToken(text, rsa(text, good.privateKey)),
  });
});
