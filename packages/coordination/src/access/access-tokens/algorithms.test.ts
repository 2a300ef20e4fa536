import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createLog } from '@baton/kernel/process/log';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';
import { readCoordinationSettings } from '../../app/settings.ts';
import { type Actor, listen, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

/** Tests the accepted algorithms of identity's tokens (CP_IAM_ALGORITHMS): a key verifies only its own algorithm. */

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  elliptic: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  edwards: generateKeyPairSync('ed25519'),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ed448: generateKeyPairSync('ed448'),
};
type KeyName = keyof typeof pairs;

const ieee = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const });
/** The algorithms that may sign a token, each with the key that it requires. */
const signers: Record<string, (text: Buffer) => Buffer> = {
  RS256: (text) => sign('sha256', text, pairs.rsa.privateKey),
  RS384: (text) => sign('sha384', text, pairs.rsa.privateKey),
  RS512: (text) => sign('sha512', text, pairs.rsa.privateKey),
  ES256: (text) => sign('sha256', text, ieee(pairs.elliptic.privateKey)),
  EdDSA: (text) => sign(null, text, pairs.edwards.privateKey),
  'ES256 in DER': (text) => sign('sha256', text, pairs.elliptic.privateKey),
  ES384: (text) => sign('sha384', text, ieee(pairs.p384.privateKey)),
  'ES256 on another curve': (text) => sign('sha256', text, ieee(pairs.p384.privateKey)),
  Ed448: (text) => sign(null, text, pairs.ed448.privateKey),
  'an HMAC by the public key': (text) =>
    createHmac('sha256', createPublicKey(pairs.elliptic.privateKey).export({ type: 'spki', format: 'pem' }))
      .update(text)
      .digest(),
  zeros: () => Buffer.alloc(64),
};

let baton: TestCoordination;
let agent: Actor;
let keyServer: Server;
let published: object[];
const closers: (() => Promise<void>)[] = [];
const jwk = (name: KeyName, alg?: string, kid: string = name) => ({
  ...pairs[name].publicKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  ...(alg && { alg }),
});
before(async () => {
  baton = await startCoordination();
  agent = await baton.actor();
  published = [
    jwk('rsa'),
    jwk('rsa', 'RS256', 'rsa of RS256'),
    jwk('elliptic', 'ES256'),
    jwk('elliptic', undefined, 'elliptic without alg'),
    jwk('edwards', 'EdDSA'),
    jwk('p384', 'ES384'),
    jwk('p384', 'ES256', 'p384 of ES256'),
    jwk('ed448', 'EdDSA'),
    jwk('elliptic', 'RS256', 'elliptic of RS256'),
    jwk('rsa', 'ES256', 'rsa of ES256'),
    { ...jwk('elliptic', 'ES256', 'for encryption'), use: 'enc' },
  ];
  keyServer = createServer((_req, res) => res.end(JSON.stringify({ keys: published })));
  await new Promise<void>((done) => keyServer.listen(0, '127.0.0.1', done));
});
after(async () => {
  for (const close of closers) await close();
  keyServer.closeAllConnections();
  keyServer.close();
  await baton.close();
});

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
function tokenOf(alg: string, kid: string, signer: string): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: baton.issuer.issuer,
    aud: 'control-plane',
    sub: agent.iamPrincipalId,
    tenant_id: agent.tenantId,
    scope: ['control-plane:read'],
    iat: now,
    nbf: now,
    exp: now + 300,
    jti: newId(),
  };
  const text = `${encode({ alg, typ: 'at+jwt', kid })}.${encode(claims)}`;
  const token = `${text}.${(signers[signer] as (text: Buffer) => Buffer)(Buffer.from(text)).toString('base64url')}`;
  keepSecret('access token', token);
  return token;
}

/**
 * Starts a process that accepts these algorithms.
 * @returns a function that sends a token and returns `admitted`, or the reason for its refusal
 */
async function accepting(algorithms?: string[]) {
  const lines: { reason?: string }[] = [];
  const log = createLog({
    name: 'coordination',
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const env = {
    ...baton.env,
    CP_IAM_JWKS_URL: `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`,
    ...(algorithms && { CP_IAM_ALGORITHMS: JSON.stringify(algorithms) }),
  };
  const { url } = await listen(env, closers, log);
  return async (alg: string, kid: string, signer: string) => {
    const headers = { authorization: `Bearer ${tokenOf(alg, kid, signer)}` };
    const { status } = await fetch(`${url}/api/v1/principals`, { headers });
    return status === 200 ? 'admitted' : lines.at(-1)?.reason;
  };
}

const genuine = [
  ['RS256', 'rsa'],
  ['RS384', 'rsa'],
  ['RS512', 'rsa'],
  ['ES256', 'elliptic'],
  ['ES256', 'elliptic without alg'],
  ['EdDSA', 'edwards'],
] as const;

test('only RS256 is accepted by default', async () => {
  const outcome = await accepting();
  for (const [alg, kid] of genuine)
    assert.equal(
      await outcome(alg, kid, alg),
      alg === 'RS256' ? 'admitted' : 'token_header',
      `${alg} ${kid}`,
    );
});

test('exactly the listed algorithms are accepted', async () => {
  for (const algorithms of [['ES256'], ['EdDSA', 'RS512'], ['RS256', 'ES256', 'EdDSA']]) {
    const outcome = await accepting(algorithms);
    for (const [alg, kid] of genuine) {
      const expected = algorithms.includes(alg) ? 'admitted' : 'token_header';
      assert.equal(await outcome(alg, kid, alg), expected, `${algorithms}: ${alg} ${kid}`);
    }
  }
});

test('a key verifies only the algorithms of its type or the one it is published for, whatever the header specifies', async () => {
  const outcome = await accepting(['RS256', 'RS384', 'RS512', 'ES256', 'EdDSA']);
  const fitting: Record<string, readonly string[]> = {
    rsa: ['RS256', 'RS384', 'RS512'],
    'rsa of RS256': ['RS256'],
    elliptic: ['ES256'],
    'elliptic without alg': ['ES256'],
    edwards: ['EdDSA'],
  };
  const kids = published.map((key) => (key as { kid: string }).kid);
  for (const alg of ['RS256', 'RS384', 'RS512', 'ES256', 'EdDSA'])
    for (const kid of kids)
      for (const signer of Object.keys(signers)) {
        const isRight = fitting[kid]?.includes(alg) === true && signer === alg;
        const found = await outcome(alg, kid, signer);
        if (isRight) assert.equal(found, 'admitted', `${alg} by ${kid}`);
        else {
          const expected = /^token_(unknown_key|algorithm|signature)$/;
          assert.match(found ?? '', expected, `${alg} by ${kid}, signed by ${signer}`);
        }
      }
  for (const alg of ['ES384', 'ES512', 'PS256', 'HS256', 'none', 'Ed25519', 'Ed448', 'es256'])
    assert.equal(await outcome(alg, 'elliptic', 'ES256'), 'token_header', alg);
});

test('a list that is empty or contains an unsupported algorithm stops the start', () => {
  for (const value of [
    '[]',
    '["none"]',
    '["HS256"]',
    '["ES384"]',
    '["rs256"]',
    '["RS256",""]',
    'RS256',
    '{}',
    '[1]',
  ])
    assert.throws(
      () => readCoordinationSettings({ ...baton.env, CP_IAM_ALGORITHMS: value }),
      /^SettingError: CP_IAM_ALGORITHMS must be a JSON array of/,
      value,
    );
});
