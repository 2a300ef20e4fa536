import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TestIdentity } from '../../testing/identity.ts';
import { assertRefused } from '../federation/testing/refusals.ts';
import { makeRealm, newSubject, signInBy, startFederation } from '../federation/testing/sign-in.ts';
import { jwkOf, makePair, type SigningPair, type Upstream } from '../federation/testing/upstream.ts';

/**
 * Tests keys without a `kid`: providers with one key often omit it, because OpenID Connect requires it only if the key
 * document has several keys.
 */

const rsaPair = makePair('rsa');
const otherRsa = makePair('other-rsa');
const curve = makePair('curve', 'ES256');
const edwards = makePair('edwards', 'EdDSA');
const unnamed = (pair: SigningPair, changes: object = {}) => jwkOf(pair, { kid: undefined, ...changes });

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

/** A new provider, so that no other document is cached for it. */
const realmWith = (...keys: object[]) => {
  upstream.publish(keys);
  return makeRealm(identity, upstream);
};
const signedBy = (pair: SigningPair, header: object = { kid: undefined }) =>
  upstream.sign({ sub: newSubject() }, header, pair);

test('a token without a kid is verified by the only key that fits its algorithm', async () => {
  for (const keys of [
    [unnamed(rsaPair)],
    [jwkOf(rsaPair)],
    [unnamed(rsaPair), unnamed(curve), jwkOf(edwards)],
    [unnamed(rsaPair), unnamed(otherRsa, { alg: 'RS512' })],
    [unnamed(rsaPair), unnamed(otherRsa, { use: 'enc' })],
  ]) {
    const realm = await realmWith(...keys);
    assert.equal((await signInBy(identity, realm, await signedBy(rsaPair))).status, 200);
  }
  const realm = await realmWith(unnamed(curve), unnamed(edwards), unnamed(rsaPair));
  for (const pair of [curve, edwards, rsaPair])
    assert.equal((await signInBy(identity, realm, await signedBy(pair))).status, 200, pair.alg);
});

test('where several keys fit, or none, the token must name one', async () => {
  for (const keys of [
    [unnamed(rsaPair), unnamed(otherRsa)],
    [unnamed(rsaPair), jwkOf(otherRsa)],
    [jwkOf(rsaPair), jwkOf(otherRsa)],
    [unnamed(curve)],
    [unnamed(rsaPair, { alg: 'PS256' })],
    [],
  ]) {
    const realm = await realmWith(...keys);
    const token = await signedBy(rsaPair);
    await assertRefused(identity, realm, 'unknown_signing_key', 401, { [JSON.stringify(keys)]: token });
  }
});

test('a kid is looked up by name, unless no key of the provider has one', async () => {
  const named = await signedBy(rsaPair, {});
  assert.equal((await signInBy(identity, await realmWith(unnamed(rsaPair)), named)).status, 200);
  const realm = await realmWith(unnamed(rsaPair), jwkOf(curve));
  await assertRefused(identity, realm, 'unknown_signing_key', 401, { named });
});

test('a key without a name that was replaced is fetched again, once for ten seconds', async () => {
  const realm = await realmWith(unnamed(rsaPair));
  assert.equal((await signInBy(identity, realm, await signedBy(rsaPair))).status, 200);
  upstream.publish([unnamed(otherRsa)]);
  assert.equal((await signInBy(identity, realm, await signedBy(otherRsa))).status, 200);
  const before = upstream.requests.length;
  const forged = await signedBy(makePair('forger'));
  for (let count = 0; count < 3; count += 1)
    await assertRefused(identity, realm, 'invalid_signature', 401, { forged });
  assert.equal(upstream.requests.length, before, 'anybody can sign with a key of their own');
});
