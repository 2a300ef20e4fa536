import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import type { Upstream } from '../federation/testing/upstream.ts';

/** Providers that admit people automatically: docs/reference/sign-in-requests.md#admit-without-an-administrator. */

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const admitting = (admit: object) =>
  makeRealm(identity, upstream, { unknownPeople: 'request', admit: { role: 'member', ...admit } });
const mail = (email: unknown, email_verified: unknown = true) => ({ email, email_verified });

async function enter(at: Realm, claims: object, more: object = { withAdmission: true }) {
  return signInBy(identity, at, await upstream.sign({ sub: newSubject(), ...claims }), 'exchange', more);
}

const isAdmitted = async (at: Realm, claims: object) => {
  const { status, body } = await enter(at, claims);
  if (status === 403) assert.deepEqual(body, { detail: 'admission_pending' });
  else assert.equal(typeof body.admissionStatement, 'string');
  return status === 200;
};

test('people with a verified e-mail of a domain are admitted, in any letter case, and nobody else', async () => {
  const at = await admitting({ domains: ['Example.com', 'bücher.example'] });
  for (const claims of [mail('petra@example.com'), mail('p@EXAMPLE.com'), mail('p@BÜCHER.example')])
    assert.ok(await isAdmitted(at, claims), JSON.stringify(claims));
  for (const claims of [
    {},
    mail('petra@example.com', false),
    mail('petra@example.com', 'true'),
    { email: 'petra@example.com' },
    mail('petra@sub.example.com'),
    mail('petra@example.com.evil.example'),
    mail('petra@evil.example@example.com'),
    // A name server may have a wildcard below evil.example, so mail to these addresses arrives there.
    mail('petra@example.com#.evil.example'),
    mail('petra@example.com/.evil.example'),
    mail('petra@example.com?.evil.example'),
    mail('petra@example.com\\.evil.example'),
    mail('petra@exampl%65.com'),
    mail('petra@example.com\u0000'),
    mail('@example.com'),
    mail(['petra@example.com']),
  ])
    assert.ok(!(await isAdmitted(at, claims)), JSON.stringify(claims));
});

test('a domain is the name of a host, and nothing that only begins with one', async () => {
  const at = await admitting({ domains: ['example.com'] });
  const path = `/tenants/${at.tenantId}/identity-providers/${at.key}`;
  for (const domain of [
    'example.com/x',
    'example.com#.evil.example',
    'exampl%65.com',
    'example.com:443',
    'x@example.com',
  ]) {
    const { status, body } = await identity.patch(path, { admit: { role: 'member', domains: [domain] } });
    assert.deepEqual([status, body.detail[0].loc.slice(0, 2)], [422, ['body', 'admit']], domain);
  }
});

test('only the claim `email` can be verified', async () => {
  const at = await makeRealm(identity, upstream, {
    unknownPeople: 'request',
    emailClaim: 'upn',
    admit: { role: 'member', domains: ['example.com'] },
  });
  assert.ok(!(await isAdmitted(at, { upn: 'p@example.com', ...mail('p@example.com') })));
});

test('people of one of the groups are admitted; with both lists both must match', async () => {
  const at = await admitting({ groups: ['engineering', 'design'] });
  assert.ok(await isAdmitted(at, { groups: ['other', 'design'] }));
  for (const groups of [undefined, [], ['other'], ['Design'], 'designers'])
    assert.ok(!(await isAdmitted(at, { groups })));
  const both = await admitting({ groups: ['design'], domains: ['example.com'] });
  assert.ok(await isAdmitted(both, { groups: ['design'], ...mail('p@example.com') }));
  assert.ok(!(await isAdmitted(both, { groups: ['design'] })));
  assert.ok(!(await isAdmitted(both, mail('p@example.com'))));
});

test('a refusal by an administrator takes precedence; a pending request ends when the provider admits its person', async () => {
  const at = await makeRealm(identity, upstream, { unknownPeople: 'request' });
  const requests = `/tenants/${at.tenantId}/sign-in-requests`;
  const [refused, pending] = [newSubject(), newSubject()];
  for (const sub of [refused, pending]) assert.ok(!(await isAdmitted(at, { sub, ...mail('p@example.com') })));
  const { items } = await made(identity.get(requests));
  const { id } = items.find(({ subject }: { subject: string }) => subject === refused);
  await made(identity.post(`${requests}/${id}:refuse`, {}));
  const admit = { role: 'member', domains: ['example.com'] };
  await made(identity.patch(`/tenants/${at.tenantId}/identity-providers/${at.key}`, { admit }));
  assert.ok(!(await isAdmitted(at, { sub: refused, ...mail('p@example.com') })));
  assert.ok(await isAdmitted(at, { sub: pending, ...mail('p@example.com') }));
  const left = (await made(identity.get(requests))).items;
  assert.deepEqual(
    left.map(({ subject, status }: { subject: string; status: string }) => [subject, status]),
    [[refused, 'refused']],
  );
});

test('a statement is bound to person, tenant, audience, provider and role for 60 seconds, and is no access token', async () => {
  const at = await admitting({ domains: ['example.com'] });
  const { principalId, admissionStatement } = await made(
    enter(at, { name: 'Petra Novak', ...mail('petra@example.com') }),
  );
  assert.equal(decodeProtectedHeader(admissionStatement).typ, 'admission+jwt');
  const { iat = 0, nbf, exp, jti, iss, ...claims } = decodeJwt(admissionStatement);
  assert.deepEqual(claims, {
    sub: principalId,
    tenant_id: at.tenantId,
    aud: 'control-plane',
    identity_provider: at.key,
    access_role: 'member',
    name: 'Petra Novak',
    email: 'petra@example.com',
  });
  assert.deepEqual([nbf, exp, typeof jti], [iat, iat + 60, 'string']);
  assert.match(String(iss), /^http/);
});

test('a statement is returned on request only, and only to those who are admitted', async () => {
  const at = await admitting({ domains: ['example.com'] });
  const admitted = await made(enter(at, mail('petra@example.com'), {}));
  assert.equal(admitted.admissionStatement, null);
  const open = await makeRealm(identity, upstream, { admit: { role: 'member', groups: ['design'] } });
  assert.equal((await made(enter(open, {}))).admissionStatement, null);
  assert.notEqual((await made(enter(open, { groups: ['design'] }))).admissionStatement, null);
});

test('`admit` needs a condition and a role without `admin`, and is bounded', async () => {
  const { tenantId, key } = await makeRealm(identity, upstream);
  const many = Array.from({ length: 51 }, (_, place) => `d${place}.example.com`);
  for (const admit of [
    { role: 'member' },
    { role: 'member', domains: [] },
    { role: 'administrator', domains: ['example.com'] },
    { role: '', domains: ['example.com'] },
    { role: 'Member role', domains: ['example.com'] },
    { role: 'member', domains: ['example'] },
    { role: 'member', domains: ['*.example.com'] },
    { role: 'member', domains: ['petra@example.com'] },
    { role: 'member', domains: many },
    { role: 'member', groups: many },
    { role: 'member', groups: ['x'.repeat(201)] },
    { domains: ['example.com'] },
  ]) {
    const { status } = await identity.patch(`/tenants/${tenantId}/identity-providers/${key}`, { admit });
    assert.equal(status, 422, JSON.stringify(admit));
  }
  const path = `/tenants/${tenantId}/identity-providers/${key}`;
  const changed = await made(
    identity.patch(path, { admit: { role: 'member', domains: ['B.example', 'a.example'] } }),
  );
  assert.deepEqual(changed.admit, { role: 'member', domains: ['a.example', 'b.example'], groups: [] });
  assert.equal((await made(identity.patch(path, { admit: null }))).admit, null);
});
