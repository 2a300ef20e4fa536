import assert from 'node:assert/strict';
import { constants, createHmac, createSign, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { TestIdentity } from '../../testing/identity.ts';
import { storeCounts } from '../../testing/records.ts';
import { encode, signedToken } from '../federation/testing/forger.ts';
import { assertRefused as assertRefusedAt } from '../federation/testing/refusals.ts';
import {
  everyRoute,
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import {
  claimsOf,
  jwkOf,
  makePair,
  nowSeconds,
  type SigningPair,
  type Upstream,
  upstreamAudience,
} from '../federation/testing/upstream.ts';

const foreign = makePair('upstream-1');
const elliptic = makePair('elliptic', 'ES256');
const elliptic384 = makePair('elliptic-384', 'ES384');
const elliptic512 = makePair('elliptic-512', 'ES512');
const edwards = makePair('edwards', 'EdDSA');
const pinned = makePair('pinned');

let identity: TestIdentity;
let upstream: Upstream;
let realm: Realm;
before(async () => {
  ({ identity, upstream } = await startFederation());
  upstream.publish([
    jwkOf(upstream.key),
    jwkOf(elliptic),
    jwkOf(elliptic384),
    jwkOf(elliptic512),
    jwkOf(edwards),
    jwkOf(pinned, { alg: 'RS512' }),
    jwkOf(makePair('twice')),
    jwkOf(makePair('twice')),
    jwkOf(makePair('encrypting'), { use: 'enc' }),
  ]);
  realm = await makeRealm(identity, upstream);
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const headerOf = ({ kid, alg }: SigningPair = upstream.key, changes: object = {}) => ({
  alg,
  kid,
  ...changes,
});
/** The string to be signed: any header, and by default a valid payload. */
const input = (
  header: unknown = headerOf(),
  payload: unknown = claimsOf(upstream.issuer, { sub: newSubject() }),
) => `${encode(header)}.${encode(payload)}`;
/** Signs with the upstream's own key, regardless of the header. */
const rsa = (text: string, key: SigningPair = upstream.key, hash = 'sha256') =>
  createSign(hash).update(text).sign(key.privateKey);
const ecdsa = (text: string, key = elliptic, dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363') =>
  createSign('sha256').update(text).sign({ key: key.privateKey, dsaEncoding });
const claimed = (changes: object, header: object = {}) =>
  upstream.sign({ sub: newSubject(), ...changes }, header);

const assertRefused = (code: string, status: number, tokens: Record<string, string>, at: Realm = realm) =>
  assertRefusedAt(identity, at, code, status, tokens);

test('every accepted algorithm signs in, and an ID token in any of its usual forms', async () => {
  for (const [alg, pair] of [
    ['RS256', upstream.key],
    ['RS384', upstream.key],
    ['RS512', upstream.key],
    ['RS512', pinned],
    ['ES256', elliptic],
    ['ES384', elliptic384],
    ['ES512', elliptic512],
    ['PS256', upstream.key],
    ['PS384', upstream.key],
    ['PS512', upstream.key],
    ['EdDSA', edwards],
    ['Ed25519', edwards],
  ] as const) {
    const token = await upstream.sign({ sub: newSubject() }, { alg }, { ...pair, alg });
    assert.equal((await signInBy(identity, realm, token)).status, 200, `${alg} ${pair.kid}`);
  }
  for (const [name, token] of Object.entries({
    'one audience in a list': await claimed({ aud: [upstreamAudience] }),
    'several audiences, and azp is us': await claimed({
      aud: ['other', upstreamAudience],
      azp: upstreamAudience,
    }),
    'one audience and an azp of somebody else': await claimed({ azp: 'mobile' }),
    'no typ': await claimed({}, { typ: undefined }),
    'typ in other letters': await claimed({}, { typ: 'application/jwt' }),
    'kind ID': await claimed({ typ: 'ID', token_use: 'id' }),
    'issued a moment ahead of us': await claimed({ iat: nowSeconds() + 55, nbf: nowSeconds() + 55 }),
    'a header that points elsewhere': await claimed(
      {},
      { jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' },
    ),
  }))
    assert.equal((await signInBy(identity, realm, token, 'exchange')).status, 200, name);
});

describe('step by step', () => {
  test('0: a body of another form is 422', async () => {
    const token = await claimed({});
    for (const bad of [
      { identityProvider: '' },
      { identityProvider: 'x'.repeat(121) },
      { token: '' },
      { username: 'x' },
      { password: 'x' },
      { token: undefined },
    ])
      for (const route of everyRoute) {
        const { status, body } = await signInBy(identity, realm, token, route, bad);
        assert.equal(status, 422);
        assert.ok(!JSON.stringify(body).includes(token));
      }
    for (const bad of [
      { audience: '' },
      { audience: 'x'.repeat(121) },
      { audience: undefined },
      { scopes: 'x' },
    ])
      assert.equal((await signInBy(identity, realm, token, 'exchange', bad)).status, 422);
    assert.equal((await signInBy(identity, realm, token, 'authenticate', { audience: 'x' })).status, 422);
  });

  test('1: an absent, foreign or disabled provider is 404 and not audited', async () => {
    const token = await claimed({});
    const closed = await makeRealm(identity, upstream);
    await identity.post(`/tenants/${closed.tenantId}/identity-providers/${closed.key}:disable`);
    const elsewhere = await makeRealm(identity, upstream);
    const before = await storeCounts(identity);
    for (const at of [
      { ...realm, key: 'unknown' },
      { ...realm, key: elsewhere.key },
      { ...realm, tenantId: realm.providerId },
      closed,
    ])
      for (const route of everyRoute) {
        const { status, body } = await signInBy(identity, at, token, route);
        assert.deepEqual([status, body], [404, { detail: 'identity_provider_not_found' }]);
      }
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('2: without keys it is 503 with Retry-After, before the token is checked', async () => {
    const dead = await makeRealm(identity, upstream, { issuer: 'http://127.0.0.1:1' });
    await assertRefused('identity_provider_unavailable', 503, { 'no token at all': 'nonsense' }, dead);
    const { headers } = await signInBy(identity, dead, 'nonsense');
    assert.equal(headers.get('retry-after'), '5');
    const inner = await makeRealm(identity, upstream, {
      issuer: 'https://localhost',
      jwksUri: 'https://10.0.0.1/keys',
    });
    await assertRefused('identity_provider_unavailable', 503, { 'a private address': 'nonsense' }, inner);
  });

  test('3: a malformed token is invalid', async () => {
    const good = await claimed({});
    const [head = '', body = '', signature = ''] = good.split('.');
    await assertRefused('invalid_token', 401, {
      'no token': 'x',
      'one dot': 'x.y',
      'two parts': `${head}.${body}`,
      'four parts': `${good}.x`,
      'five parts, encrypted': `${head}.x.y.z.w`,
      'a header that is no base64url': `${head}=.${body}.${signature}`,
      'a header with a byte of no alphabet': `${head.slice(0, -1)}!.${body}.${signature}`,
      'a header that is no JSON': `${encode('{')}.${body}.${signature}`,
      'a header that is a list': `${encode([])}.${body}.${signature}`,
      'a header that is null': `${encode('null')}.${body}.${signature}`,
      'a header that is no UTF-8': `${Buffer.from([0x7b, 0xff]).toString('base64url')}.${body}.${signature}`,
      'no header': `.${body}.${signature}`,
      'space around it': ` ${good}`,
      'a line break': `${good}\n.`,
      'too large': `${good}${'A'.repeat(32_768)}`,
      crit: signedToken(input(headerOf(undefined, { crit: ['exp'] })), Buffer.alloc(256)),
      'an empty crit': signedToken(input(headerOf(undefined, { crit: [] })), Buffer.alloc(256)),
      b64: signedToken(input(headerOf(undefined, { b64: false })), Buffer.alloc(256)),
    });
  });

  test('4: an algorithm outside the five is unsupported, among them none and HMAC with the public key', async () => {
    const publicPem = upstream.key.publicKey.export({ type: 'spki', format: 'pem' }) as string;
    const publicJwk = JSON.stringify(jwkOf(upstream.key));
    const hmac = (secret: string) => {
      const text = input(headerOf(undefined, { alg: 'HS256' }));
      return signedToken(text, createHmac('sha256', secret).update(text).digest());
    };
    const named = (alg: unknown) => input(headerOf(undefined, { alg }));
    await assertRefused('unsupported_algorithm', 401, {
      none: `${named('none')}.`,
      None: `${named('None')}.`,
      'NONE with a signature': signedToken(named('NONE'), rsa(named('NONE'))),
      'no alg': signedToken(input({ kid: 'upstream-1' }), Buffer.alloc(256)),
      'an empty alg': `${named('')}.`,
      'alg that is no text': `${named(['RS256'])}.`,
      'alg null': `${named(null)}.`,
      'RS256 in other letters': signedToken(named('rs256'), rsa(named('rs256'))),
      'HMAC with the public key (PEM)': hmac(publicPem),
      'HMAC with the public key (JWK)': hmac(publicJwk),
      ES256K: `${named('ES256K')}.AAAA`,
      Ed448: `${named('Ed448')}.AAAA`,
      'ML-DSA-44': `${named('ML-DSA-44')}.AAAA`,
      RS1: `${named('RS1')}.AAAA`,
    });
  });

  test('5: a kid that names no key is unknown', async () => {
    const without = (kid: unknown) => claimed({}, { kid });
    await assertRefused('unknown_signing_key', 401, {
      'an empty kid': await without(''),
      'another kid': await without('other'),
      'a kid of the prototype': await without('__proto__'),
      'a path as kid': await without('../../dev/null'),
      'a kid that two keys bear': await upstream.sign({}, {}, { ...makePair('twice') }),
      'a key for encryption': await upstream.sign({}, {}, makePair('encrypting')),
      'a key in the header': await upstream.sign({}, { jwk: jwkOf(foreign) }, { ...foreign, kid: 'mine' }),
      'a key at jku': await upstream.sign(
        {},
        { jku: `${upstream.issuer}/keys` },
        { ...foreign, kid: 'mine' },
      ),
    });
    const number = input(headerOf(undefined, { kid: 1 }));
    await assertRefused('unknown_signing_key', 401, { 'a number as kid': signedToken(number, rsa(number)) });
  });

  test('6: a signature that does not fit is invalid, in every known form of attack', async () => {
    const text = input();
    const good = rsa(text);
    const flipped = (bytes: Buffer, at: number) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] as number) ^ 1;
      return copy;
    };
    const curve = input(headerOf(elliptic));
    const raw = ecdsa(curve);
    const zero = Buffer.alloc(32);
    const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
    const pssUnderRsName = createSign('sha256')
      .update(text)
      .sign({ key: upstream.key.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING });
    const other = await claimed({});
    const [head, , signature] = other.split('.');
    const bad: Record<string, Buffer> = {
      empty: Buffer.alloc(0),
      zeros: Buffer.alloc(256),
      ones: Buffer.alloc(256, 255),
      random: randomBytes(256),
      'cut by one byte': good.subarray(0, -1),
      'cut to half': good.subarray(0, 128),
      'without its first byte': good.subarray(1),
      'with a zero before it': Buffer.concat([Buffer.alloc(1), good]),
      'with a zero behind it': Buffer.concat([good, Buffer.alloc(1)]),
      twice: Buffer.concat([good, good]),
      reversed: Buffer.from(good).reverse(),
      'first bit flipped': flipped(good, 0),
      'middle bit flipped': flipped(good, 128),
      'last bit flipped': flipped(good, 255),
      'PS256 under the name of RS256': pssUnderRsName,
      'SHA-1 under the name of RS256': rsa(text, upstream.key, 'sha1'),
      'SHA-512 under the name of RS256': rsa(text, upstream.key, 'sha512'),
      'by somebody else under this kid': rsa(text, foreign),
      'of another text': rsa(input()),
    };
    const badCurve: Record<string, Buffer> = {
      'r and s zero': Buffer.alloc(64),
      'r zero': Buffer.concat([zero, raw.subarray(32)]),
      's zero': Buffer.concat([raw.subarray(0, 32), zero]),
      'r the order': Buffer.concat([order, raw.subarray(32)]),
      's the order': Buffer.concat([raw.subarray(0, 32), order]),
      'r and s one': Buffer.concat([zero.fill(1, 31), zero]),
      DER: ecdsa(curve, elliptic, 'der'),
      'halves exchanged': Buffer.concat([raw.subarray(32), raw.subarray(0, 32)]),
      cut: raw.subarray(0, 63),
      'zeros before each half': Buffer.concat([
        Buffer.alloc(1),
        raw.subarray(0, 32),
        Buffer.alloc(1),
        raw.subarray(32),
      ]),
      'padded to the size of ES384': Buffer.concat([raw, Buffer.alloc(32)]),
      'of a larger curve': createSign('sha256')
        .update(curve)
        .sign({ key: elliptic384.privateKey, dsaEncoding: 'ieee-p1363' }),
    };
    const tokens: Record<string, string> = {
      'padded base64': `${text}.${good.toString('base64url')}==`,
      'base64 of the other alphabet': `${text}.+/${good.toString('base64url').slice(2)}`,
      'a space in it': `${text}. ${good.toString('base64url')}`,
      'a byte of no alphabet': `${text}.${good.toString('base64url')}*`,
      'one character, which is no byte': `${text}.A`,
      'a changed payload': `${head}.${encode(claimsOf(upstream.issuer, { sub: 'admin' }))}.${signature}`,
      'a changed header': `${encode(headerOf(undefined, { x: 1 }))}.${other.split('.')[1]}.${signature}`,
      'RSA under the name of ES256': signedToken(input(headerOf(undefined, { alg: 'ES256' })), good),
      'ES256 with a key of P-384': signedToken(input(headerOf(elliptic384, { alg: 'ES256' })), raw),
      'ES384 with a key of P-256': signedToken(input(headerOf(elliptic, { alg: 'ES384' })), raw),
      'an elliptic key under the name of RS256': signedToken(
        input(headerOf(elliptic, { alg: 'RS256' })),
        good,
      ),
      'a key that is for RS512 only': await upstream.sign({}, {}, pinned),
      'a key of the forger in jwk': await upstream.sign({}, { jwk: jwkOf(foreign) }, foreign),
      'a key of the forger in x5c': await upstream.sign({}, { x5c: ['AAAA'] }, foreign),
      'a key of the forger at jku': await upstream.sign({}, { jku: `${upstream.issuer}/keys` }, foreign),
    };
    // The last character of the encoding of 256 bytes has four unused bits, so this is another encoding of the same
    // bytes.
    const last = good.toString('base64url').at(-1) as string;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = alphabet[alphabet.indexOf(last) + 1] as string;
    tokens['other bits at its end'] = `${text}.${good.toString('base64url').slice(0, -1)}${twin}`;
    for (const [name, bytes] of Object.entries(bad)) tokens[name] = signedToken(text, bytes);
    for (const [name, bytes] of Object.entries(badCurve))
      tokens[`ES256: ${name}`] = signedToken(curve, bytes);
    assert.ok(Object.keys(tokens).length >= 47);
    assert.equal((await signInBy(identity, realm, signedToken(text, good))).status, 200);
    assert.equal((await signInBy(identity, realm, signedToken(curve, raw))).status, 200);
    await assertRefused('invalid_signature', 401, tokens);
  });

  test('7: missing claims, times of the future and tokens of another kind are invalid', async () => {
    const withPayload = (payload: string) => {
      const text = `${encode(headerOf())}.${encode(payload)}`;
      return signedToken(text, rsa(text));
    };
    const tokens: Record<string, string> = {
      'iat two minutes ahead': await claimed({ iat: nowSeconds() + 120 }),
      'nbf two minutes ahead': await claimed({ nbf: nowSeconds() + 120 }),
      'iat as text': await claimed({ iat: '1' }),
      'exp as text': await claimed({ exp: '9999999999' }),
      'nbf as text': await claimed({ nbf: 'soon' }),
      'exp without end': withPayload(
        JSON.stringify(claimsOf(upstream.issuer)).replace(/"exp":\d+/, '"exp":1e999'),
      ),
      'no JSON': withPayload('{'),
      'a list': withPayload('[]'),
      'a text': withPayload('"claims"'),
      nothing: withPayload(''),
      'a logout token': await claimed({}, { typ: 'logout+jwt' }),
      'a security event': await claimed({}, { typ: 'secevent+jwt' }),
      'a proof of possession': await claimed({}, { typ: 'dpop+jwt' }),
      'a typ that is no text': await claimed({}, { typ: 1 }),
      events: await claimed({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }),
      'a refresh token of Keycloak': await claimed({ typ: 'Refresh' }),
      'an access token of Cognito': await claimed({ token_use: 'access' }),
      'a subject with NUL': await claimed({ sub: 'a\0b' }),
      'a subject with half a character': withPayload(
        JSON.stringify(claimsOf(upstream.issuer, { sub: 'x' })).replace('"x"', '"\\ud800"'),
      ),
      'a group with NUL': await claimed({ groups: ['\0'] }),
      'a subject of 501 characters': await claimed({ sub: 'x'.repeat(501) }),
    };
    for (const claim of ['iss', 'sub', 'aud', 'exp', 'iat']) {
      tokens[`no ${claim}`] = await claimed({ [claim]: undefined });
      tokens[`${claim} null`] = await claimed({ [claim]: null });
    }
    await assertRefused('invalid_token', 401, tokens);
  });

  test('8: exp has no leeway', async () => {
    await assertRefused('token_expired', 401, {
      'a second ago': await claimed({ exp: nowSeconds() - 1 }),
      now: await claimed({ exp: nowSeconds() }),
      'with a foreign issuer, too': await claimed({ exp: 1, iss: 'https://other.example', aud: 'other' }),
    });
  });

  test('9: iss is compared character by character', async () => {
    await assertRefused('invalid_issuer', 401, {
      'another issuer': await claimed({ iss: 'https://other.example' }),
      'a slash at its end that was not registered': await claimed({ iss: `${upstream.issuer}/` }),
      'other letters': await claimed({ iss: upstream.issuer.toUpperCase() }),
      'a path behind it': await claimed({ iss: `${upstream.issuer}/realm` }),
      'a list': await claimed({ iss: [upstream.issuer] }),
      'with a foreign audience, too': await claimed({ iss: 'x', aud: 'other' }),
    });
    const slashed = await makeRealm(identity, upstream, { issuer: `${upstream.issuer}/` });
    for (const iss of [upstream.issuer, `${upstream.issuer}/`])
      assert.equal((await signInBy(identity, slashed, await claimed({ iss }))).status, 200, iss);
    assert.equal(
      (await signInBy(identity, slashed, await claimed({ iss: `${upstream.issuer}//` }))).status,
      401,
    );
  });

  test('10: aud is ours, or contains it', async () => {
    await assertRefused('invalid_audience', 401, {
      'somebody else': await claimed({ aud: 'other' }),
      'a part of our name': await claimed({ aud: upstreamAudience.slice(0, -1) }),
      others: await claimed({ aud: ['other', 'another'] }),
      nobody: await claimed({ aud: [] }),
      'an object': await claimed({ aud: { [upstreamAudience]: true } }),
      'a list in a list': await claimed({ aud: [[upstreamAudience]] }),
    });
  });

  test('11: the subject claim is a text that is not empty', async () => {
    await assertRefused('missing_subject_claim', 401, {
      'an empty sub': await claimed({ sub: '' }),
      'a number': await claimed({ sub: 7 }),
      'a list': await claimed({ sub: ['x'] }),
    });
    const byOid = await makeRealm(identity, upstream, {
      subjectClaim: 'oid',
      externalIdClaim: 'constructor',
    });
    const proto = await makeRealm(identity, upstream, { subjectClaim: '__proto__' });
    await assertRefused('missing_subject_claim', 401, { 'no oid': await claimed({}) }, byOid);
    await assertRefused('missing_subject_claim', 401, { 'no own claim': await claimed({}) }, proto);
    assert.equal((await signInBy(identity, byOid, await claimed({ oid: newSubject() }))).status, 200);
  });

  test('12: acr is one of the required values, amr contains all required values', async () => {
    const strict = await makeRealm(identity, upstream, {
      requiredAcrValues: ['gold', 'silver'],
      requiredAmrValues: ['otp', 'pwd'],
    });
    const amr = ['pwd', 'hwk', 'otp'];
    await assertRefused(
      'step_up_required',
      403,
      {
        neither: await claimed({}),
        'another acr': await claimed({ acr: 'bronze', amr }),
        'no acr': await claimed({ amr }),
        'a list as acr': await claimed({ acr: ['gold'], amr }),
        'half of the amr': await claimed({ acr: 'gold', amr: ['pwd'] }),
        'amr as one text': await claimed({ acr: 'gold', amr: 'pwd otp' }),
      },
      strict,
    );
    assert.equal((await signInBy(identity, strict, await claimed({ acr: 'silver', amr }))).status, 200);
  });
});
