import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  routes,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import type { Upstream } from '../federation/testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
let realm: Realm;
before(async () => {
  ({ identity, upstream } = await startFederation());
  realm = await makeRealm(identity, upstream, { displayNameClaim: 'name' });
});
after(async () => {
  await identity.close();
  await upstream.close();
});

async function nameAfter(claims: object, at = realm, route: (typeof routes)[number] = 'authenticate') {
  const { principalId } = await made(signInBy(identity, at, await upstream.sign(claims), route));
  return (await identity.get(`/tenants/${at.tenantId}/principals/${principalId}`)).body.display_name;
}

test('the first sign-in takes the name from the claim of the provider, on both routes', async () => {
  for (const route of routes)
    assert.equal(
      await nameAfter({ sub: newSubject(), name: ' Ada  Lovelace ' }, realm, route),
      'Ada  Lovelace',
    );
  const written = JSON.stringify([
    await auditOf(identity, realm.tenantId),
    await journalOf(identity, realm.tenantId),
  ]);
  assert.ok(!written.includes('Lovelace'));
});

test('a later sign-in does not rename', async () => {
  const sub = newSubject();
  assert.equal(await nameAfter({ sub, name: 'Ada' }), 'Ada');
  assert.equal(await nameAfter({ sub, name: 'Somebody else' }), 'Ada');
});

test('by default no claim is used, not even one with an empty name', async () => {
  const plain = await makeRealm(identity, upstream);
  const sub = newSubject();
  assert.equal(await nameAfter({ sub, name: 'Ada', '': 'Ada' }, plain), `${plain.key}:${sub}`);
});

test('a name is cut to 200 whole characters', async () => {
  const long = `${'x'.repeat(199)}${'😀'.repeat(5)}`;
  assert.equal(await nameAfter({ sub: newSubject(), name: long }), `${'x'.repeat(199)}😀`);
  assert.equal(await nameAfter({ sub: newSubject(), name: `${'x'.repeat(199)} y` }), 'x'.repeat(199));
  for (const name of ['Ada\u0000\r\n\tLovelace', 'Ada\u2028Lovelace', 'Ada \u{e0041}\u{e007f}Lovelace'])
    assert.equal(await nameAfter({ sub: newSubject(), name }), 'Ada Lovelace');
});

test('provider and external id are cleaned like a name, because people may choose the external id', async () => {
  const at = await makeRealm(identity, upstream, { externalIdClaim: 'login' });
  const claims = { sub: newSubject(), login: 'ada\u001b[2J\u202e\nadmin' };
  assert.equal(await nameAfter(claims, at), `${at.key}:ada [2J admin`);
});

test('an unusable name is replaced by provider and external id, and does not prevent the sign-in', async () => {
  for (const name of [
    undefined,
    null,
    '',
    '  ',
    '\u0000',
    '\u200b\u202e',
    7,
    true,
    ['Ada'],
    { name: 'Ada' },
  ]) {
    const sub = newSubject();
    assert.equal(await nameAfter({ sub, name }), `${realm.key}:${sub}`, JSON.stringify(name));
  }
});

test('any claim results in a name of 1 to 200 storable characters', async () => {
  const claimNames = ['name', '__proto__', 'constructor', 'sub'];
  const realms = new Map<string, Realm>();
  for (const claim of claimNames)
    realms.set(claim, await makeRealm(identity, upstream, { displayNameClaim: claim }));
  const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.string({ unit: 'binary' }));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...claimNames.slice(0, 3)),
      fc.oneof(text, fc.jsonValue(), fc.constantFrom('\ud800', '\udc00x', 'a\ud83d')),
      async (claim, value) => {
        const claims = JSON.parse(`{${JSON.stringify(claim)}:${JSON.stringify(value)}}`);
        const at = realms.get(claim) as Realm;
        const name: string = await nameAfter({ ...claims, sub: `s-${randomUUID()}` }, at);
        const length = [...name].length;
        assert.ok(length >= 1 && length <= 200 && name.trim() === name && name.isWellFormed());
        assert.ok(!/\p{Cc}/u.test(name));
      },
    ),
    { numRuns: byDepth(30, 200) },
  );
  const sub = newSubject();
  assert.equal(await nameAfter({ sub }, realms.get('sub')), sub);
});
