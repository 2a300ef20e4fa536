import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createLog } from '@baton/kernel/process/log';
import type { TestIdentity } from '../../testing/identity.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import { jwkOf, makePair, type Upstream } from '../federation/testing/upstream.ts';
import { ProviderFaults } from './provider-faults.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation({ IAM_LOG_LEVEL: 'warn' }));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const linesOf = ({ providerId }: Realm) => identity.logged.filter((line) => line.includes(providerId));

test('a provider that fails leaves one line, however often people try, which names it and holds no token', async () => {
  const realm = await makeRealm(identity, upstream, { jwksCacheTtlSeconds: 0, jwksStaleGraceSeconds: 0 });
  const token = await upstream.sign({ sub: newSubject() });
  upstream.publish(undefined);
  for (let count = 0; count < 5; count += 1) {
    const { status, body } = await signInBy(identity, realm, token);
    assert.deepEqual([status, body], [503, { detail: 'identity_provider_unavailable' }]);
  }
  const lines = linesOf(realm);
  assert.equal(lines.length, 1, lines.join());
  const { level, identityProvider, issuer, msg } = JSON.parse(lines[0] as string);
  assert.deepEqual([level, identityProvider, issuer], ['warn', realm.key, upstream.issuer]);
  assert.match(msg, /could not be fetched/);
  assert.ok(!lines.join().includes(token));
  upstream.publish([jwkOf(upstream.key)]);
});

test('a key document without a usable key, and tokens of another setting, leave a line each', async () => {
  upstream.publish([{ kty: 'oct', k: 'c2VjcmV0', kid: 'secret' }]);
  const keyless = await makeRealm(identity, upstream);
  const token = await upstream.sign({ sub: newSubject() });
  for (let count = 0; count < 3; count += 1)
    assert.equal((await signInBy(identity, keyless, token)).body.detail, 'unknown_signing_key');
  assert.match(linesOf(keyless).join('\n'), /no key that verifies[^]*unknown_signing_key/);
  assert.equal(linesOf(keyless).length, 2);

  upstream.publish([jwkOf(upstream.key)]);
  const realm = await makeRealm(identity, upstream, { audience: 'another-client' });
  for (let count = 0; count < 3; count += 1)
    assert.equal((await signInBy(identity, realm, token)).body.detail, 'invalid_audience');
  assert.equal(linesOf(realm).length, 1);
  // Requests that only an attacker would send are not logged; they leave only a row in the audit log.
  const forged = await upstream.sign({ sub: newSubject() }, {}, { ...makePair('x'), kid: upstream.key.kid });
  assert.equal((await signInBy(identity, realm, forged)).body.detail, 'invalid_signature');
  assert.equal(linesOf(realm).length, 1);
});

test('a fault that goes on is logged again each minute, with how often it happened', () => {
  const lines: string[] = [];
  const log = createLog({ name: 'test', level: 'warn', destination: { write: (line) => lines.push(line) } });
  let nowMs = 0;
  const faults = new ProviderFaults(log, () => nowMs);
  for (nowMs = 0; nowMs < 180_000; nowMs += 1000) faults.note('one', 'keys', {}, 'broken');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).sinceLastLine),
    [undefined, 59, 59],
  );
  faults.note('other', 'keys', {}, 'broken');
  faults.note('one', 'audience', {}, 'broken');
  assert.equal(lines.length, 5);
  assert.deepEqual([faults.end('one', 'keys'), faults.end('one', 'keys')], [true, false]);
  faults.note('one', 'keys', {}, 'broken again');
  assert.equal(lines.length, 6);
});
