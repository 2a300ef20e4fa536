import assert from 'node:assert/strict';
import { constants, createSign, generateKeyPairSync, privateEncrypt } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { TestIdentity } from '../../testing/identity.ts';
import {
  blocksOf,
  bytesOf,
  cubeRootForgery,
  encode,
  modulusOf,
  numberOf,
  rsa,
  shortPadding,
  signBlock,
  signedToken,
} from '../federation/testing/forger.ts';
import { assertRefused } from '../federation/testing/refusals.ts';
import {
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
  type SigningPair,
  type Upstream,
} from '../federation/testing/upstream.ts';

/** Signatures that a lenient verifier would accept, made with the right key. */

const elliptic = makePair('elliptic', 'ES256');
const elliptic384 = makePair('elliptic-384', 'ES384');
const cubic: SigningPair = {
  kid: 'cubic',
  alg: 'RS256',
  ...generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }),
};
const koblitz: SigningPair = {
  kid: 'koblitz',
  alg: 'ES256',
  ...generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
};

let identity: TestIdentity;
let upstream: Upstream;
let realm: Realm;
before(async () => {
  ({ identity, upstream } = await startFederation());
  upstream.publish([upstream.key, elliptic, elliptic384, cubic, koblitz].map((pair) => jwkOf(pair)));
  realm = await makeRealm(identity, upstream);
});
after(async () => {
  await identity.close();
  await upstream.close();
});

/** The string to be signed: the header of a key, and valid claims. */
const input = ({ kid, alg }: SigningPair = upstream.key, header: object = {}) =>
  `${encode({ alg, kid, ...header })}.${encode(claimsOf(upstream.issuer, { sub: newSubject() }))}`;
const refused = (tokens: Record<string, string>) =>
  assertRefused(identity, realm, 'invalid_signature', 401, tokens);
const accepted = async (token: string, name = '') =>
  assert.equal((await signInBy(identity, realm, token)).status, 200, name);
const signedTokens = (text: string, signatures: Record<string, Buffer>) =>
  Object.fromEntries(
    Object.entries(signatures).map(([name, signature]) => [name, signedToken(text, signature)]),
  );

/** Signs strings until the signature has the required form, which has a probability of 1 in 2 or 1 in 256. */
function signedUntil(isWanted: (signature: Buffer) => boolean): [text: string, signature: Buffer] {
  for (let tries = 0; tries < 10_000; tries += 1) {
    const text = input();
    const signature = rsa(text, upstream.key.privateKey);
    if (isWanted(signature)) return [text, signature];
  }
  throw new Error('no signature of that form was found');
}

test('an RSA block must be byte by byte that of the standard: no other hash name, length, padding or rest', async () => {
  const text = input();
  const { right, wrong } = blocksOf(text);
  const signatures = Object.entries(wrong).map(([name, block]): [string, Buffer] => [
    name,
    signBlock(block, upstream.key.privateKey),
  ]);
  assert.ok(signatures.length >= 24);
  await refused(signedTokens(text, Object.fromEntries(signatures)));
  // The code that creates these signatures can also create a valid one.
  await accepted(signedToken(text, signBlock(right, upstream.key.privateKey)));
});

test('a cube root is no signature for an exponent of 3', async () => {
  const text = input(cubic);
  const forged = cubeRootForgery(text);
  // A weak implementation would accept the forgery, because its cube has the padding, the name of the hash and the hash
  // at the expected positions.
  const cube = bytesOf(numberOf(forged) ** 3n, 256);
  const tempting = blocksOf(text).wrong[shortPadding] as Buffer;
  assert.ok(cube.subarray(0, 62).equals(tempting.subarray(0, 62)));
  await refused({ 'the cube root': signedToken(text, forged) });
  await accepted(signedToken(text, rsa(text, cubic.privateKey)));
});

test('an RSA signature has the length of the modulus and is a number below it', async () => {
  const n = modulusOf(upstream.key.publicKey);
  const [text, signature] = signedUntil((bytes) => numberOf(bytes) + n < 1n << 2048n);
  const s = numberOf(signature);
  await refused(
    signedTokens(text, {
      's + n': bytesOf(s + n, 256),
      's + 2n': bytesOf(s + 2n * n, 257),
      'n - s': bytesOf(n - s, 256),
      zero: bytesOf(0n, 256),
      one: bytesOf(1n, 256),
      'n - 1': bytesOf(n - 1n, 256),
      n: bytesOf(n, 256),
      'n + 1': bytesOf(n + 1n, 256),
      'one byte': Buffer.from([1]),
    }),
  );
  const [short, leading] = signedUntil((bytes) => bytes[0] === 0);
  await accepted(signedToken(short, leading), 'a signature that begins with zero');
  await refused({ 'without the zero that it begins with': signedToken(short, leading.subarray(1)) });
});

test('PSS with any length of salt, and the hash of another algorithm, are refused for PKCS #1', async () => {
  const text = input();
  const pss = (saltLength: number) =>
    createSign('sha256')
      .update(text)
      .sign({ key: upstream.key.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
  const named = (alg: string) => input(upstream.key, { alg });
  const [rs384, rs512] = [named('RS384'), named('RS512')];
  await refused({
    'PSS without salt': signedToken(text, pss(0)),
    'PSS with the longest salt': signedToken(text, pss(constants.RSA_PSS_SALTLEN_MAX_SIGN)),
    'SHA-256 under the name of RS384': signedToken(rs384, rsa(rs384, upstream.key.privateKey)),
    'SHA-256 under the name of RS512': signedToken(rs512, rsa(rs512, upstream.key.privateKey)),
    'the text itself, padded': signedToken(
      text,
      privateEncrypt(
        { key: upstream.key.privateKey, padding: constants.RSA_PKCS1_PADDING },
        text.slice(0, 200),
      ),
    ),
    'over the claims only': signedToken(text, rsa(text.split('.')[1] as string, upstream.key.privateKey)),
    'over the header only': signedToken(text, rsa(text.split('.')[0] as string, upstream.key.privateKey)),
    'over the text without its dot': signedToken(text, rsa(text.replace('.', ''), upstream.key.privateKey)),
  });
});

const orders = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
};

for (const [alg, pair, length] of [
  ['ES256', elliptic, 32],
  ['ES384', elliptic384, 48],
] as const)
  test(`the two numbers of ${alg} are of the group, in the right order and of the right length`, async () => {
    const n = orders[alg];
    const text = input(pair);
    const hash = alg === 'ES256' ? 'sha256' : 'sha384';
    const sign = (dsaEncoding: 'ieee-p1363' | 'der') =>
      createSign(hash).update(text).sign({ key: pair.privateKey, dsaEncoding });
    const raw = sign('ieee-p1363');
    const [r, s] = [numberOf(raw.subarray(0, length)), numberOf(raw.subarray(length))];
    const both = (left: bigint, right: bigint, size: number = length) =>
      Buffer.concat([bytesOf(left, size), bytesOf(right, size)]);
    const ones = (1n << BigInt(length * 8)) - 1n;
    await refused(
      signedTokens(text, {
        empty: Buffer.alloc(0),
        'zeros, as Java once took them': both(0n, 0n),
        'r zero': both(0n, s),
        's zero': both(r, 0n),
        'r = 1, s = 0': both(1n, 0n),
        'r = s = 1': both(1n, 1n),
        'r = n': both(n, s),
        's = n': both(r, n),
        'r = s = n': both(n, n),
        'r = n - 1': both(n - 1n, s),
        'r = n + 1': both(n + 1n, s),
        'all ones': both(ones, ones),
        '-r in two’s complement': both(ones - r + 1n, s),
        '-s in two’s complement': both(r, ones - s + 1n),
        'n - r': both(n - r, s),
        'r + n, one byte longer': both(r + n, s, length + 1),
        's + n, one byte longer': both(r, s + n, length + 1),
        'halves exchanged': both(s, r),
        DER: sign('der'),
        'only r': raw.subarray(0, length),
        'one byte less': raw.subarray(0, -1),
        'one byte more': Buffer.concat([raw, Buffer.alloc(1)]),
        'a zero before it': Buffer.concat([Buffer.alloc(1), raw]),
        twice: Buffer.concat([raw, raw]),
        'of another text': createSign(hash)
          .update(input(pair))
          .sign({ key: pair.privateKey, dsaEncoding: 'ieee-p1363' }),
        'with another hash': createSign('sha512')
          .update(text)
          .sign({ key: pair.privateKey, dsaEncoding: 'ieee-p1363' }),
      }),
    );
    await accepted(signedToken(text, raw));
    // The standard (FIPS 186) allows both signatures. Accepting both is safe although one can be computed from the
    // other, because no data here is keyed by the signature.
    await accepted(signedToken(text, both(r, n - s)), 's in its other half');
  });

test('a key of another curve verifies nothing, whatever the algorithm is called', async () => {
  const signed = (pair: SigningPair, alg: string, hash = 'sha256') => {
    const text = input(pair, { alg });
    const signature = createSign(hash).update(text).sign({ key: pair.privateKey, dsaEncoding: 'ieee-p1363' });
    return signedToken(text, signature);
  };
  await refused({
    'P-384 under the name of ES256': signed(elliptic384, 'ES256'),
    'P-256 under the name of ES384': signed(elliptic, 'ES384', 'sha384'),
    'P-256 under the name of RS256': signed(elliptic, 'RS256'),
    'secp256k1 under the name of ES256': signed(koblitz, 'ES256'),
    'RSA under the name of ES384': signedToken(
      input(upstream.key, { alg: 'ES384' }),
      rsa(input(), upstream.key.privateKey).subarray(0, 96),
    ),
  });
});

test('a signature has one text: the base64url of its bytes, without padding, spaces or loose bits', async () => {
  const [text, signature] = signedUntil((bytes) => /[-_]/.test(bytes.toString('base64url')));
  const right = signature.toString('base64url');
  const loose = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].filter(
    (last) =>
      last !== right.at(-1) && Buffer.from(`${right.slice(0, -1)}${last}`, 'base64url').equals(signature),
  );
  // The last character of the encoding of 256 bytes has four unused bits, so there are 15 other encodings.
  assert.equal(loose.length, 15);
  const tokens: Record<string, string> = {
    'one padding character': `${text}.${right}=`,
    'two padding characters': `${text}.${right}==`,
    'the other alphabet': `${text}.${signature.toString('base64').replace(/=+$/, '')}`,
    'a line break behind': `${text}.${right}\n`,
    'a line break in it': `${text}.${right.slice(0, 76)}\r\n${right.slice(76)}`,
    'a tab in it': `${text}.${right.slice(0, 9)}\t${right.slice(9)}`,
    'percent signs': `${text}.${right.replace(/[-_]/, (found) => (found === '-' ? '%2D' : '%5F'))}`,
    'a letter of another script': `${text}.${right.slice(0, -1)}Ａ`,
    'a comma behind': `${text}.${right},`,
    hexadecimal: `${text}.${signature.toString('hex')}`,
  };
  for (const last of loose) tokens[`loose bits: ${last}`] = `${text}.${right.slice(0, -1)}${last}`;
  await refused(tokens);
  await accepted(`${text}.${right}`);
});
