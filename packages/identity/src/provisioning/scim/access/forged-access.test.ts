import assert from 'node:assert/strict';
import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSign,
  type KeyObject,
  sign,
} from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  blocksOf,
  bytesOf,
  encode,
  modulusOf,
  numberOf,
  rsa,
  signBlock,
  signedToken,
} from '../../../sign-in/federation/testing/forger.ts';
import { jwkOf, makePair, nowSeconds } from '../../../sign-in/federation/testing/upstream.ts';
import {
  makeCurveKey,
  makeRsaKey,
  startIdentity,
  type TestIdentity,
  testSigningKey,
} from '../../../testing/identity.ts';
import { made, makePrincipal, makeToken } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { storeCounts } from '../../../testing/records.ts';
import { scimClient } from '../../../testing/scim-client.ts';

/**
 * SCIM accepts only tokens that Baton signed, in the exact form in which it signs them.
 */

const bytes = 384;
let identity: TestIdentity;
let fixture: Provisioning;
let key: KeyObject;
let publicKey: KeyObject;
let genuine: string;
let header: Record<string, unknown>;
let claims: Record<string, unknown>;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  fixture = await makeProvisioning(identity);
  key = createPrivateKey(testSigningKey());
  publicKey = createPublicKey(key);
  const { clientId, clientSecret } = fixture.account;
  const body = { clientId, clientSecret, audience: 'iam-scim', scopes: ['scim:write'] };
  genuine = (await made(identity.request('POST', '/api/v1/tokens/exchange', { body }))).accessToken;
  header = { ...decodeProtectedHeader(genuine) };
  claims = { ...decodeJwt(genuine) };
});
after(() => identity.close());

const get = (token: string) => scimClient(identity, token).get('/Users');
const input = (headerChanges: object = {}, claimChanges: object = {}) =>
  `${encode({ ...header, ...headerChanges })}.${encode({ ...claims, ...claimChanges })}`;
const signed = (text: string, by = key) => signedToken(text, rsa(text, by));

/** Checks that all refusals have the same response, that nothing is stored, and that only the log has the reason. */
async function refused(tokens: Record<string, string>): Promise<void> {
  const usual = await get('x');
  const face = ({ status, body, headers }: typeof usual) => [
    status,
    body,
    [...headers].filter(([name]) => !['date', 'x-request-id', 'x-run-id'].includes(name)),
  ];
  assert.equal(usual.status, 401);
  const before = await storeCounts(identity);
  for (const [name, token] of Object.entries(tokens)) {
    const logged = identity.logged.length;
    assert.deepEqual(face(await get(token)), face(usual), name);
    const lines = identity.logged.slice(logged).map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ code }) => code),
      ['scim_unauthorized'],
      name,
    );
    assert.ok(typeof lines[0].reason === 'string' && lines[0].reason !== '', name);
  }
  assert.deepEqual(await storeCounts(identity), before);
}
const accepted = async (token: string) => assert.equal((await get(token)).status, 200);

test('a token signed as ours is admitted, so the refusals below have the reason that they name', async () => {
  await accepted(genuine);
  await accepted(signed(input()));
});

test('the scope is one text or a list; part of a name, an empty text and other types are no scope', async () => {
  assert.equal(claims['scope'], 'scim:write');
  for (const scope of ['other scim:write', ['other', 'scim:write']])
    await accepted(signed(input({}, { scope })));
  for (const scope of [
    '',
    'scim:writer',
    'xscim:write',
    ['other scim:write'],
    [],
    { 'scim:write': true },
    7,
    null,
  ])
    assert.equal((await get(signed(input({}, { scope })))).status, 403, JSON.stringify(scope));
});

test('no other algorithm: none in any spelling, HMAC with our public key, PSS, other hashes, elliptic curves', async () => {
  const { n } = publicKey.export({ format: 'jwk' });
  const secrets: Record<string, string | Buffer> = {
    'SPKI in PEM': publicKey.export({ type: 'spki', format: 'pem' }),
    'PKCS #1 in PEM': publicKey.export({ type: 'pkcs1', format: 'pem' }),
    'SPKI in DER': publicKey.export({ type: 'spki', format: 'der' }),
    'the JWK': JSON.stringify(publicKey.export({ format: 'jwk' })),
    'the modulus': Buffer.from(n as string, 'base64url'),
    nothing: '',
  };
  const tokens: Record<string, string> = {};
  for (const [name, secret] of Object.entries(secrets))
    for (const alg of ['HS256', 'RS256']) {
      const text = input({ alg });
      tokens[`${name} as ${alg}`] = signedToken(text, createHmac('sha256', secret).update(text).digest());
    }
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, ['RS256'], 'rs256', 'RS1', 'ES256', 'EdDSA']) {
    tokens[`${JSON.stringify(alg)} unsigned`] = `${input({ alg })}.`;
    tokens[`${JSON.stringify(alg)} signed`] = signed(input({ alg }));
  }
  for (const [alg, hash] of [
    ['RS384', 'sha384'],
    ['RS512', 'sha512'],
  ] as const) {
    const text = input({ alg });
    tokens[alg] = signedToken(text, createSign(hash).update(text).sign(key));
    tokens[`${alg} under the name of RS256`] = signedToken(
      input(),
      createSign(hash).update(input()).sign(key),
    );
  }
  for (const alg of ['PS256', 'RS256']) {
    const text = input({ alg });
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    tokens[`PSS as ${alg}`] = signedToken(text, createSign('sha256').update(text).sign({ key, padding }));
  }
  await refused(tokens);
});

test('no signature but the right one: no other block, number, length or text', async () => {
  const text = input();
  const right = rsa(text, key);
  const s = numberOf(right);
  const n = modulusOf(publicKey);
  const base64url = right.toString('base64url');
  const tokens: Record<string, string> = {
    's + n': signedToken(text, bytesOf(s + n, bytes + 1)),
    'n - s': signedToken(text, bytesOf(n - s, bytes)),
    zero: signedToken(text, Buffer.alloc(bytes)),
    one: signedToken(text, bytesOf(1n, bytes)),
    'n - 1': signedToken(text, bytesOf(n - 1n, bytes)),
    n: signedToken(text, bytesOf(n, bytes)),
    empty: `${text}.`,
    'cut by a byte': signedToken(text, right.subarray(0, -1)),
    'a zero before it': signedToken(text, Buffer.concat([Buffer.alloc(1), right])),
    'a zero behind it': signedToken(text, Buffer.concat([right, Buffer.alloc(1)])),
    'of another text': signedToken(text, rsa(input({}, { jti: 'x' }), key)),
    'by another key': signed(text, createPrivateKey(makeRsaKey(2048))),
    padded: `${text}.${base64url}=`,
    'with a letter of no alphabet': `${text}.${base64url}*`,
    'of the other alphabet': `${text}.${right.toString('base64').replace(/[-_]/g, '+')}+/`,
    'four parts': `${text}.${base64url}.x`,
    'five parts': `${text}.${base64url}.x.y`,
    'two parts': text,
  };
  for (const [name, block] of Object.entries(blocksOf(text, bytes).wrong))
    tokens[`block: ${name}`] = signedToken(text, signBlock(block, key));
  await refused(tokens);
  await accepted(signedToken(text, signBlock(blocksOf(text, bytes).right, key)));
});

test('no header that refers to or contains a key, is critical, or names another type of token', async () => {
  const forger = makePair(header['kid'] as string);
  const by = (changes: object) => signed(input(changes), forger.privateKey);
  const tokens: Record<string, string> = {
    jwk: by({ jwk: jwkOf(forger) }),
    jku: by({ jku: 'http://127.0.0.1:1/keys' }),
    x5u: by({ x5u: 'http://127.0.0.1:1/keys' }),
    x5c: by({ x5c: [forger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] }),
    'no typ': signed(input({ typ: undefined })),
    crit: signed(input({ crit: ['exp'], exp: 1 })),
    'an empty crit': signed(input({ crit: [] })),
    'crit that names b64': signed(input({ crit: ['b64'], b64: false })),
    'a header that is a list': signed(`${encode([])}.${encode(claims)}`),
    'a header that is no JSON': signed(`${encode('{')}.${encode(claims)}`),
  };
  for (const typ of ['JWT', 'logout+jwt', 'id+jwt', '', null, 1, ['at+jwt']])
    tokens[`typ ${JSON.stringify(typ)}`] = signed(input({ typ }));
  for (const kid of [
    'other',
    '',
    '../../dev/null',
    "' or 1=1 --",
    '__proto__',
    'k'.repeat(4000),
    1,
    null,
    {},
  ])
    tokens[`kid ${JSON.stringify(kid).slice(0, 20)}`] = signed(input({ kid }));
  await refused(tokens);
});

test('no other claims: missing, of another issuer or audience, expired, not yet valid, or of another type', async () => {
  const tokens: Record<string, string> = {
    'past, by a second': signed(input({}, { exp: nowSeconds() })),
    'to come': signed(input({}, { nbf: nowSeconds() + 60 })),
    'exp as text': signed(input({}, { exp: String(nowSeconds() + 60) })),
    'exp without end': signed(
      `${encode(header)}.${encode(JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999'))}`,
    ),
    'another issuer': signed(input({}, { iss: 'https://other.example' })),
    'the issuer and a slash': signed(input({}, { iss: `${claims['iss']}/` })),
    'a list of issuers': signed(input({}, { iss: [claims['iss']] })),
    'another audience': signed(input({}, { aud: 'control-plane' })),
    'several audiences': signed(input({}, { aud: ['iam-scim', 'control-plane'] })),
    'our audience in a list': signed(input({}, { aud: ['iam-scim'] })),
    'no object': signed(`${encode(header)}.${encode('"claims"')}`),
    'a list': signed(`${encode(header)}.${encode([claims])}`),
    'a token in a token': signed(`${encode({ ...header, cty: 'JWT' })}.${encode(genuine)}`),
    'no UTF-8': signed(`${encode(header)}.${encode(Buffer.from([0x7b, 0xff, 0x7d]))}`),
  };
  for (const claim of ['iss', 'sub', 'tenant_id', 'aud', 'iat', 'nbf', 'exp', 'jti', 'credential_id'])
    tokens[`no ${claim}`] = signed(input({}, { [claim]: undefined }));
  await refused(tokens);
});

test('no other kind of secret is admitted', async () => {
  const agent = await makePrincipal(identity, fixture.tenantId);
  const { token } = await makeToken(identity, fixture.tenantId, agent, {
    audiences: ['iam-scim'],
    scopeCeiling: ['scim:write'],
  });
  await refused({
    'a platform access token': token,
    'a client secret': fixture.account.clientSecret,
  });
});

test('a malformed id in a token that we signed is a refusal, not a failure', async () => {
  for (const claim of ['sub', 'tenant_id', 'credential_id'])
    for (const value of ['x', '', 7, null, {}, [claims[claim]], '\0', "' or true --"]) {
      const { status } = await get(signed(input({}, { [claim]: value })));
      assert.equal(status, 401, `${claim} ${JSON.stringify(value)}`);
    }
});

test('each key verifies its own algorithm, regardless of the header and of the key that signed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-forged-'));
  t.after(() => rm(folder, { recursive: true }));
  const pems = { ES256: makeCurveKey('ES256'), EdDSA: makeCurveKey('EdDSA') };
  const settings: Record<string, string> = {};
  for (const [alg, pem] of Object.entries(pems)) {
    const file = join(folder, `${alg}.pem`);
    await writeFile(file, pem);
    settings[`IAM_SIGNING_${alg.toUpperCase()}_KEY_FILE`] = file;
  }
  const several = await identity.another(settings);
  const audience = `/tenants/${fixture.tenantId}/audiences/iam-scim`;
  const allowedScopes = ['scim:write', 'scim:other'];
  t.after(() => several.patch(audience, { allowedScopes, signingAlgorithm: 'RS256' }));
  const { clientId, clientSecret } = fixture.account;
  const body = { clientId, clientSecret, audience: 'iam-scim', scopes: ['scim:write'] };
  const kids: Record<string, unknown> = {};
  const status = async (token: string) => (await scimClient(several, token).get('/Users')).status;
  for (const signingAlgorithm of ['RS256', 'ES256', 'EdDSA']) {
    await made(several.patch(audience, { allowedScopes, signingAlgorithm }));
    const { accessToken } = await made(several.request('POST', '/api/v1/tokens/exchange', { body }));
    const { alg, kid } = decodeProtectedHeader(accessToken);
    assert.equal(alg, signingAlgorithm);
    kids[signingAlgorithm] = kid;
    assert.equal(await status(accessToken), 200, signingAlgorithm);
  }
  const curve = createPrivateKey(pems.ES256);
  const signers: Record<string, (text: string) => Buffer> = {
    RS256: (text) => rsa(text, key),
    ES256: (text) => sign('sha256', Buffer.from(text), { key: curve, dsaEncoding: 'ieee-p1363' }),
    EdDSA: (text) => sign(null, Buffer.from(text), createPrivateKey(pems.EdDSA)),
    'ES256 in DER': (text) => sign('sha256', Buffer.from(text), curve),
    'an HMAC by the public key': (text) =>
      createHmac('sha256', createPublicKey(curve).export({ type: 'spki', format: 'pem' }))
        .update(text)
        .digest(),
    nothing: () => Buffer.alloc(0),
    zeros: () => Buffer.alloc(64),
  };
  for (const alg of ['RS256', 'ES256', 'EdDSA', 'Ed25519', 'ES384', 'HS256', 'none'])
    for (const [named, kid] of Object.entries(kids))
      for (const [signer, signatureOf] of Object.entries(signers)) {
        const text = input({ alg, kid });
        const isRight = alg === named && alg === signer;
        const answer = await status(signedToken(text, signatureOf(text)));
        assert.equal(answer, isRight ? 200 : 401, `${alg}, the kid of ${named}, signed by ${signer}`);
      }
});
