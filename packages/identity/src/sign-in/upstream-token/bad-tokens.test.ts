import assert from 'node:assert/strict';
import { createHmac, createSign } from 'node:crypto';
import { after, before, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import type { TestIdentity } from '../../testing/identity.ts';
import { storeCounts } from '../../testing/records.ts';
import { encode, rsa, signedToken } from '../federation/testing/forger.ts';
import { assertRefused } from '../federation/testing/refusals.ts';
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
  startUpstream,
  type Upstream,
  upstreamAudience,
} from '../federation/testing/upstream.ts';

/** Cases beyond `verification.test.ts`: unusual headers and claims, most of them with a valid signature. */

const forger = makePair('upstream-1');

let identity: TestIdentity;
let upstream: Upstream;
let realm: Realm;
before(async () => {
  ({ identity, upstream } = await startFederation());
  realm = await makeRealm(identity, upstream);
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const usualHeader = { alg: 'RS256', kid: 'upstream-1' };
const claims = (changes: object = {}) => claimsOf(upstream.issuer, { sub: newSubject(), ...changes });
/** Signs any header and payload; strings are used unchanged. */
function signed(header: unknown = usualHeader, payload: unknown = claims()): string {
  const text = `${encode(header)}.${encode(payload)}`;
  return signedToken(text, rsa(text, upstream.key.privateKey));
}
const withHeader = (changes: object) => signed({ ...usualHeader, ...changes });
const withClaims = (changes: object) => signed(usualHeader, claims(changes));
/** Replaces a part of the claims' JSON text, for JSON that `JSON.stringify` never produces. */
const withText = (from: string | RegExp, to: string, changes: object = {}) =>
  signed(usualHeader, JSON.stringify(claims(changes)).replace(from, to));
const refused = (code: string, tokens: Record<string, string>) =>
  assertRefused(identity, realm, code, 401, tokens);
async function accepted(tokens: Record<string, string>): Promise<void> {
  for (const [name, token] of Object.entries(tokens))
    assert.equal((await signInBy(identity, realm, token)).status, 200, name);
}

test('alg none is refused in every spelling, with and without a signature', async () => {
  const spellings = [
    'none',
    'None',
    'NONE',
    'nOnE',
    'nonE',
    ' none',
    'none ',
    'none\0',
    'null',
    '"none"',
    'ոone',
  ];
  const tokens: Record<string, string> = {};
  for (const alg of spellings) {
    const text = `${encode({ ...usualHeader, alg })}.${encode(claims())}`;
    tokens[`${JSON.stringify(alg)} unsigned`] = `${text}.`;
    tokens[`${JSON.stringify(alg)} signed`] = signedToken(text, rsa(text, upstream.key.privateKey));
  }
  for (const alg of [true, 0, {}, ['none'], { toString: 'RS256' }])
    tokens[`alg ${JSON.stringify(alg)}`] = withHeader({ alg });
  await refused('unsupported_algorithm', tokens);
});

test('the public key is no HMAC secret, in whatever form and under whatever name', async () => {
  const { publicKey } = upstream.key;
  const jwk = publicKey.export({ format: 'jwk' });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const secrets: Record<string, string | Buffer> = {
    'SPKI in PEM': pem,
    'SPKI in PEM without its last line break': pem.trimEnd(),
    'PKCS #1 in PEM': publicKey.export({ type: 'pkcs1', format: 'pem' }),
    'SPKI in DER': publicKey.export({ type: 'spki', format: 'der' }),
    'PKCS #1 in DER': publicKey.export({ type: 'pkcs1', format: 'der' }),
    'the JWK': JSON.stringify(jwk),
    'the JWK as it is published': JSON.stringify(jwkOf(upstream.key)),
    'the modulus': Buffer.from(jwk.n as string, 'base64url'),
    'the text of the modulus': jwk.n as string,
    'an empty secret': '',
  };
  const [asHmac, asRsa]: Record<string, string>[] = [{}, {}];
  for (const [name, secret] of Object.entries(secrets)) {
    for (const [alg, hash] of [
      ['HS256', 'sha256'],
      ['HS384', 'sha384'],
      ['HS512', 'sha512'],
      ['RS256', 'sha256'],
    ] as const) {
      const text = `${encode({ ...usualHeader, alg })}.${encode(claims())}`;
      const tokens = (alg === 'RS256' ? asRsa : asHmac) as Record<string, string>;
      tokens[`${name}, ${alg}`] = signedToken(text, createHmac(hash, secret).update(text).digest());
    }
  }
  await refused('unsupported_algorithm', asHmac as Record<string, string>);
  await refused('invalid_signature', asRsa as Record<string, string>);
});

test('keys in a header or at its addresses are neither used nor fetched', async () => {
  const own = `${upstream.issuer}/forged`;
  const jwk = jwkOf(forger);
  const headers = {
    jku: { jku: own },
    x5u: { x5u: own },
    jwk: { jwk },
    x5c: { x5c: [forger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] },
    'all of them': { jku: own, x5u: own, jwk, x5c: ['AAAA'], x5t: 'AAAA', 'x5t#S256': 'AAAA' },
    'a private key': { jwk: forger.privateKey.export({ format: 'jwk' }) },
    'a secret key': { jwk: { kty: 'oct', k: encode('secret') } },
  };
  await accepted({ right: signed() });
  const before = upstream.requests.length;
  const forged: Record<string, string> = {};
  for (const [name, header] of Object.entries(headers)) {
    const text = `${encode({ ...usualHeader, ...header })}.${encode(claims())}`;
    forged[name] = signedToken(text, rsa(text, forger.privateKey));
  }
  await refused('invalid_signature', forged);
  for (const [name, header] of Object.entries(headers)) await accepted({ [name]: withHeader(header) });
  assert.equal(upstream.requests.length, before);
});

test('a kid is a text that names a published key, and nothing else', async () => {
  const kids: Record<string, unknown> = {
    number: 1,
    boolean: true,
    null: null,
    list: ['upstream-1'],
    object: { upstream: 1 },
    'a path': '../../../../dev/null',
    'an absolute path': '/proc/self/environ',
    'an address': `${'http://127.0.0.1:1'}/keys`,
    SQL: "x' union select 'AAAA' --",
    'a command': '| id',
    'with NUL': 'upstream-1\0',
    'with a space': 'upstream-1 ',
    'in other letters': 'UPSTREAM-1',
    'of the prototype': 'constructor',
    'half a character': '\ud800',
    oversized: 'k'.repeat(20_000),
  };
  const tokens = Object.entries(kids).map(([name, kid]) => [name, withHeader({ kid })]);
  await refused('unknown_signing_key', Object.fromEntries(tokens));
});

test('critical headers, and anything but a compact JWS, are invalid', async () => {
  const right = signed();
  const [head, body, signature] = right.split('.') as [string, string, string];
  const json = { payload: body, protected: head, signature };
  // Signed as given, so that only the encoding is wrong.
  const loose = (text: string) => signedToken(text, rsa(text, upstream.key.privateKey));
  const ending = (text: string, last: (char: string) => string) =>
    text.slice(0, -1) + last(text.at(-1) as string);
  await refused('invalid_token', {
    'crit that names exp': withHeader({ crit: ['exp'], exp: 1 }),
    'crit that names b64': withHeader({ crit: ['b64'], b64: false }),
    'crit null': withHeader({ crit: null }),
    'crit that is a text': withHeader({ crit: 'exp' }),
    'b64 true': withHeader({ b64: true }),
    'b64 null': withHeader({ b64: null }),
    'flattened JSON': JSON.stringify(json),
    'general JSON': JSON.stringify({ payload: body, signatures: [{ protected: head, signature }] }),
    'JSON that contains dots': JSON.stringify({ ...json, header: { x: 'a.b' } }),
    'five parts, as an encrypted token has': `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.AAAA.AAAA.AAAA.AAAA`,
    'five parts of a right one': `${right}.AAAA.AAAA`,
    'without its payload': `${head}..${rsa(`${head}.`, upstream.key.privateKey).toString('base64url')}`,
    'a scheme before it': `Bearer ${right}`,
    quoted: JSON.stringify(right),
    'two tokens': `${right},${right}`,
    'a byte order mark before it': `\ufeff${right}`,
    'the payload padded': loose(`${head}.${body}=`),
    'the header padded': loose(`${head}==.${body}`),
    'a space in the payload': loose(`${head}.${body.slice(0, 9)} ${body.slice(9)}`),
    'a line break in the header': loose(`${head.slice(0, 9)}\n${head.slice(9)}.${body}`),
    'the other alphabet in the payload': loose(
      `${head}.${encode({ ...claims(), x: '???>>>' }).replaceAll(/[-_]/g, '/')}`,
    ),
    'a length that no bytes have': loose(`${head}.${body.slice(0, body.length - (body.length % 4))}A`),
    'loose bits at the end of the payload': loose(
      `${head}.${ending(encode(`${JSON.stringify(claims())}`.padEnd(400, ' ')), (last) => String.fromCharCode(last.charCodeAt(0) + 1))}`,
    ),
  });
});

test('a payload that is no object of claims is invalid: nested, packed, cut, or in another encoding', async () => {
  const good = JSON.stringify(claims());
  const header = { ...usualHeader, typ: 'JWT' };
  await refused('invalid_token', {
    'a token in a token': signed({ ...header, cty: 'JWT' }, signed()),
    packed: signed({ ...header, zip: 'DEF' }, deflateRawSync(good)),
    null: signed(header, 'null'),
    'a number': signed(header, '1'),
    'a list of claims': signed(header, [claims()]),
    'two objects': signed(header, `${good}${good}`),
    'a comment': signed(header, good.replace('{', '{/* */')),
    'a comma behind': signed(header, good.replace('}', ',}')),
    'UTF-16': signed(header, Buffer.from(good, 'utf16le')),
    'no UTF-8': signed(header, Buffer.from(good.replace('"sub":"', '"sub":"\xff'), 'latin1')),
    'an overlong zero': signed(header, Buffer.from(good.replace('"sub":"', '"sub":"\xc0\x80'), 'latin1')),
    'half a character in UTF-8': signed(
      header,
      Buffer.from(good.replace('"sub":"', '"sub":"\xed\xa0\x80'), 'latin1'),
    ),
    'lists 8,000 deep': signed(header, `${'['.repeat(8000)}${']'.repeat(8000)}`),
    'lists without an end': signed(header, '['.repeat(20_000)),
  });
  // Nested as deeply as a token allows, both in an ignored claim and in those that are read.
  const deep = `${'['.repeat(8000)}${']'.repeat(8000)}`;
  await accepted({ 'a deep claim': signed(header, good.replace('{', `{"deep":${deep},`)) });
  await accepted({
    'deep groups': signed(header, JSON.stringify(claims()).replace('{', `{"groups":${deep},`)),
  });
  await refused('invalid_audience', { 'a deep aud': withText(/"aud":"[^"]+"/, `"aud":${deep}`) });
});

test('a duplicate name has its last value everywhere', async () => {
  const twice = (first: string, last: string) =>
    signed(`{"alg":"${first}","kid":"other","kid":"upstream-1","alg":"${last}"}`);
  await refused('unsupported_algorithm', { 'RS256, then none': twice('RS256', 'none') });
  await refused('invalid_issuer', {
    'iss of another last': withText(/}$/, ',"iss":"https://other.example"}'),
  });
  await refused('invalid_audience', { 'aud of another last': withText(/}$/, ',"aud":"other"}') });
  await refused('token_expired', { 'exp of the past last': withText(/}$/, ',"exp":1}') });
  await refused('invalid_token', {
    'crit last': signed('{"alg":"RS256","kid":"upstream-1","crit":[],"crit":["x"]}'),
  });
  await accepted({
    'none, then RS256': twice('none', 'RS256'),
    'iss of another first': withText('{', '{"iss":"https://other.example",'),
  });
});

test('only ID tokens and access tokens prove a sign-in: other kinds of the same issuer are invalid', async () => {
  const types = [
    'logout+jwt',
    'at+jwt+x',
    'rt+jwt',
    'secevent+jwt',
    'dpop+jwt',
    'JWE',
    'JOSE',
    'oauth-authz-req+jwt',
    'token-introspection+jwt',
    'vc+sd-jwt',
    'JWT ',
    'jwt;x',
    '',
    'application/',
  ];
  const tokens: Record<string, string> = {};
  for (const typ of types) tokens[`typ ${JSON.stringify(typ)}`] = withHeader({ typ });
  for (const typ of [null, 1, ['JWT'], { JWT: true }])
    tokens[`typ ${JSON.stringify(typ)}`] = withHeader({ typ });
  for (const events of [{}, null, [], 'x'])
    tokens[`events ${JSON.stringify(events)}`] = withClaims({ events });
  for (const kind of ['bearer', 'Refresh', 'Offline', 'Logout', 'id', '', null, 1])
    tokens[`claim typ ${JSON.stringify(kind)}`] = withClaims({ typ: kind });
  for (const use of ['access', 'refresh', 'ID', '', null])
    tokens[`token_use ${JSON.stringify(use)}`] = withClaims({ token_use: use });
  await refused('invalid_token', tokens);
});

test('a time is a finite number of seconds; nbf and iat have 60 seconds, exp none', async () => {
  const tokens: Record<string, string> = {};
  for (const claim of ['exp', 'iat', 'nbf'])
    for (const value of ['1e400', '-1e400', '"1763740000"', '""', 'true', '[]', '[1763740000]', '{}', 'null'])
      tokens[`${claim} ${value}`] = withText(/}$/, `,"${claim}":${value}}`);
  for (const value of ['NaN', 'Infinity', '0x10', '01', '+1', '.5'])
    tokens[`iat ${value}`] = withText(/}$/, `,"iat":${value}}`);
  // Well beyond the tolerance, because the clock may have advanced by a second when the token arrives.
  for (const claim of ['iat', 'nbf']) {
    tokens[`${claim} 120 seconds ahead`] = withClaims({ [claim]: nowSeconds() + 120 });
    tokens[`${claim} in the far future`] = withClaims({ [claim]: 1e300 });
    tokens[`${claim} in milliseconds`] = withClaims({ [claim]: Date.now() });
  }
  await refused('invalid_token', tokens);
  await refused('token_expired', {
    'exp now': withClaims({ exp: nowSeconds() }),
    'exp a part of a second ago': withClaims({ exp: Date.now() / 1000 }),
    'exp 0': withClaims({ exp: 0 }),
    'exp -0': withText(/}$/, ',"exp":-0}'),
    'exp below zero': withClaims({ exp: -9e15 }),
  });
  for (const claim of ['iat', 'nbf']) {
    await accepted({ [`${claim} 60 seconds ahead`]: withClaims({ [claim]: nowSeconds() + 60 }) });
    await accepted({ [`${claim} with a fraction`]: withClaims({ [claim]: Date.now() / 1000 + 59.5 }) });
    await accepted({ [`${claim} long ago`]: withClaims({ [claim]: 0 }) });
  }
  await accepted({ 'exp in a moment': withClaims({ exp: Date.now() / 1000 + 20.5 }) });
});

test('the leeway is a setting of 0 to 300 seconds', async () => {
  for (const [leeway, ahead, status] of [
    ['0', 30, 401],
    ['300', 250, 200],
  ] as const) {
    const other = await identity.another({ IAM_UPSTREAM_LEEWAY_SECONDS: leeway });
    const answer = await signInBy(other, realm, withClaims({ iat: nowSeconds() + ahead }));
    assert.equal(answer.status, status, leeway);
    await other.close();
  }
  await assert.rejects(
    identity.another({ IAM_UPSTREAM_LEEWAY_SECONDS: '301' }),
    /IAM_UPSTREAM_LEEWAY_SECONDS/,
  );
});

test('aud is exactly ours, or a list that contains it', async () => {
  const us = upstreamAudience;
  const bad: [string, object][] = [
    ['a number', { aud: 1 }],
    ['true', { aud: true }],
    ['an empty text', { aud: '' }],
    ['our name and a space', { aud: `${us} ` }],
    ['our name in other letters', { aud: us.toUpperCase() }],
    ['names in one text', { aud: `${us} other` }],
    ['names with a comma', { aud: `other,${us}` }],
    ['a list of objects', { aud: [{ value: us }] }],
    ['a list in a list', { aud: [[us]] }],
    ['an object with a length', { aud: { 0: us, length: 1 } }],
    ['others, azp us', { aud: ['other', 'another'], azp: us }],
  ];
  await refused(
    'invalid_audience',
    Object.fromEntries(bad.map(([name, changes]) => [name, withClaims(changes)])),
  );
});

test('a subject that cannot be stored is invalid, and one that is not a text counts as missing', async () => {
  const subjects = {
    NUL: '\\u0000',
    'NUL in the middle': 'a\\u0000b',
    'a high half': 'a\\ud83d',
    'a low half': '\\ude00a',
    'halves in the wrong order': '\\ude00\\ud83d',
    '501 characters': 'x'.repeat(501),
    '501 characters of two halves': '😀'.repeat(501),
    'a token full': 'x'.repeat(20_000),
  };
  const tokens = Object.entries(subjects).map(([name, text]) => [
    name,
    withText(/"sub":"[^"]+"/, `"sub":"${text}"`),
  ]);
  await refused('invalid_token', Object.fromEntries(tokens));
  for (const sub of [0, 7, true, {}, [], ['x'], ''])
    await refused('missing_subject_claim', { [`sub ${JSON.stringify(sub)}`]: withClaims({ sub }) });
  for (const claim of ['acr', 'amr', 'groups'])
    await refused('invalid_token', {
      [`half a character in ${claim}`]: withText('{', `{"${claim}":"\\ud800",`),
    });
  await accepted({ 'two halves in order': withText(/"sub":"[^"]+"/, '"sub":"\\ud83d\\ude00"') });
  await accepted({
    '500 characters': withClaims({ sub: `${newSubject()}${'x'.repeat(500)}`.slice(0, 500) }),
  });
});

test('a token of up to 32 KiB is read, a longer one is invalid, and a body beyond 64 KiB is 413', async () => {
  const ofLength = (length: number) => {
    const claim = (size: number) =>
      signed(usualHeader, { ...claims({ sub: 'of a fixed length' }), x: 'x'.repeat(size) });
    const size = Math.floor(((length - claim(0).length) * 3) / 4);
    return claim(size);
  };
  const largest = ofLength(32_768);
  assert.ok(largest.length > 32_760 && largest.length <= 32_768);
  await accepted({ largest });
  await refused('invalid_token', {
    'a little longer': ofLength(32_800),
    'almost 64 KiB': ofLength(60_000),
    'dots only': '.'.repeat(60_000),
    'one long part': 'A'.repeat(60_000),
  });
  const before = await storeCounts(identity);
  for (const route of everyRoute) {
    const { status, body } = await signInBy(identity, realm, ofLength(70_000), route);
    assert.deepEqual([status, body], [413, { detail: 'request_too_large' }]);
  }
  assert.deepEqual(await storeCounts(identity), before);
});

test('a body whose token is no storable text is 422, and nothing is stored', async () => {
  const before = await storeCounts(identity);
  const right = signed();
  for (const token of [`${right}\0`, `\0${right}`, `${right}\ud800`, [right], { token: right }, null, 1])
    for (const route of everyRoute) {
      const answer = await signInBy(identity, realm, token as string, route);
      assert.equal(answer.status, 422, JSON.stringify(token));
      assert.ok(!JSON.stringify(answer.body).includes(right.slice(-20)));
    }
  assert.deepEqual(await storeCounts(identity), before);
});

test('a token of another provider, or one of ours, is refused', async () => {
  const other = await startUpstream();
  try {
    const theirs = await makeRealm(identity, other);
    const text = `${encode(usualHeader)}.${encode(claims())}`;
    const foreign = signedToken(text, createSign('sha256').update(text).sign(other.key.privateKey));
    await refused('invalid_signature', { 'signed by another provider': foreign });
    const issued = await signInBy(identity, theirs, await other.sign({ sub: newSubject() }), 'exchange');
    await refused('unknown_signing_key', { 'our own access token': issued.body.accessToken });
  } finally {
    await other.close();
  }
});
