import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
import {
  everyRoute,
  makeRealm,
  newSubject,
  type Realm,
  type Route,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import type { Upstream } from '../federation/testing/upstream.ts';
import { sweepOldRequests } from './old-requests.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation({
    IAM_SIGN_IN_REQUESTS_MAX: '12',
    IAM_TRUSTED_PROXIES: '["127.0.0.1"]',
  }));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const pending = [403, { detail: 'admission_pending' }];
const asking = (changes: object = {}) =>
  makeRealm(identity, upstream, { unknownPeople: 'request', ...changes });
const pathOf = ({ tenantId }: Realm) => `/tenants/${tenantId}/sign-in-requests`;
const listOf = async (at: Realm, query = '') =>
  (await made(identity.get(`${pathOf(at)}${query}`))).items as Record<string, unknown>[];

async function signIn(at: Realm, claims: object, route: Route = 'authenticate') {
  const { status, body } = await signInBy(identity, at, await upstream.sign(claims), route);
  return [status, body];
}

/** Sign-ins of unknown people at the same time, each from the given address. */
async function arrive(at: Realm, addresses: readonly string[]) {
  const answers = await Promise.all(
    addresses.map(async (address) =>
      identity.request('POST', `/api/v1/tenants/${at.tenantId}/federation:authenticate`, {
        body: { identityProvider: at.key, token: await upstream.sign({ sub: newSubject() }) },
        headers: { 'x-forwarded-for': address },
      }),
    ),
  );
  for (const { status, body } of answers) assert.deepEqual([status, body], pending);
}

/** A person with a pending request. */
async function ask(at: Realm, claims: object = {}) {
  const sub = newSubject();
  assert.deepEqual(await signIn(at, { sub, ...claims }), pending);
  const found = (await listOf(at)).find((item) => item['subject'] === sub);
  assert.ok(found);
  return { sub, id: found['id'] as string, request: found };
}

const decide = (at: Realm, id: string, act: 'admit' | 'refuse', body?: object) =>
  identity.post(`${pathOf(at)}/${id}:${act}`, body);

describe('an unknown person who signs in through a provider', () => {
  test('becomes a request with name and e-mail, on every route, and nobody is created', async () => {
    const at = await asking();
    for (const route of everyRoute) {
      const sub = newSubject();
      const claims = { sub, name: 'Petra Novak', email: 'petra@example.com', email_verified: true };
      assert.deepEqual(await signIn(at, claims, route), pending);
      const request = (await listOf(at)).find(({ subject }) => subject === sub);
      const { displayName, email, emailVerified, identityProvider, status, attempts, issuer } = request ?? {};
      assert.deepEqual(
        [displayName, email, emailVerified, identityProvider, status, attempts, issuer],
        ['Petra Novak', 'petra@example.com', true, at.key, 'pending', 1, upstream.issuer],
      );
    }
    const people = await made(identity.get(`/tenants/${at.tenantId}/principals?kind=human`));
    assert.deepEqual(people.items, []);
    const events = await journalOf(identity, at.tenantId);
    const created = events.filter(({ type }) => type === 'sign_in_request.created');
    assert.equal(created.length, everyRoute.length);
    assert.ok(!JSON.stringify([events, await auditOf(identity, at.tenantId)]).includes('Petra'));
  });

  test('has one request, however often they sign in, also at the same time', async () => {
    const at = await asking();
    const sub = newSubject();
    const token = await upstream.sign({ sub });
    const answers = await Promise.all(Array.from({ length: 8 }, () => signInBy(identity, at, token)));
    for (const { status, body } of answers) assert.deepEqual([status, body], pending);
    const [request, ...others] = await listOf(at);
    assert.deepEqual([request?.['attempts'], others], [8, []]);
  });

  test('is named by the claims of the provider, without control characters, and cut', async () => {
    const at = await asking({ displayNameClaim: 'nick', emailClaim: 'upn' });
    const claims = {
      nick: `\u202eE\u0000va\u0007 ${'x'.repeat(300)}`,
      name: 'unused',
      upn: ' eva\u0000@example.com\u200b ',
      email_verified: true,
    };
    const { request } = await ask(at, claims);
    assert.match(String(request['displayName']), /^E va {1,2}x{190,}$/);
    assert.equal(String(request['displayName']).length, 200);
    // `email_verified` applies only to the claim `email`.
    assert.deepEqual([request['email'], request['emailVerified']], ['eva@example.com', false]);
    for (const upn of ['no address', 'a@b@c', 7, `${'x'.repeat(320)}@example.com`]) {
      const { request: other, sub } = await ask(at, { nick: '', upn });
      assert.deepEqual([other['email'], other['displayName']], [null, `${at.key}:${sub}`]);
      await decide(at, other['id'] as string, 'refuse', {});
    }
  });

  test('is named by the external id without control characters if the token has no name', async () => {
    const at = await asking({ externalIdClaim: 'login' });
    const { request } = await ask(at, { login: 'eva\u001b[2J\u202e\nadmin' });
    assert.equal(request['displayName'], `${at.key}:eva [2J admin`);
  });

  test('gets the same response as a refused one, and as one beyond the maximum, which is exact', async () => {
    const at = await asking();
    await arrive(at, Array(6).fill('192.0.2.1'));
    // A single address may have a quarter of the tenant's maximum, and a single provider half of it.
    assert.equal((await listOf(at)).length, 3);
    await arrive(at, ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4', '2001:db8::5']);
    assert.equal((await listOf(at)).length, 6);
    const list = await listOf(at);
    const { subject, id } = list[0] as { subject: string; id: string };
    await made(decide(at, id, 'refuse', { reason: 'unknown to us' }));
    assert.deepEqual(await signIn(at, { sub: subject }), pending);
    await arrive(at, ['198.51.100.1', '198.51.100.2']);
    const statuses = (await listOf(at)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [...Array(6).fill('pending'), 'refused']);
    const other = await made(
      identity.post(`/tenants/${at.tenantId}/identity-providers`, {
        key: 'second',
        issuer: `${upstream.issuer}/second`,
        audience: 'x',
      }),
    );
    assert.equal(other.unknown_people, 'create');
  });

  test('makes no other request for the time of a refusal, and then a new one', async () => {
    const at = await asking();
    const { sub, id } = await ask(at);
    const refused = await made(decide(at, id, 'refuse', { forSeconds: 3600 }));
    const seconds = (Date.parse(refused.expiresAt) - Date.parse(refused.decidedAt)) / 1000;
    assert.ok(Math.abs(seconds - 3600) < 1, String(seconds));
    await signIn(at, { sub });
    assert.deepEqual(
      (await listOf(at)).map(({ status, id: found }) => [status, found]),
      [['refused', id]],
    );
    await identity.pool.run(
      sql`update sign_in_requests set expires_at = now() - interval '1 ms' where id = ${id}`,
    );
    await signIn(at, { sub });
    const [again] = await listOf(at);
    assert.equal(again?.['status'], 'pending');
    assert.notEqual(again?.['id'], id);
    // The new request reserves a different principal, so anything prepared for the first request grants nothing.
    assert.notEqual(again?.['principalId'], refused.principalId);
    assert.equal((await decide(at, id, 'admit')).body.detail, 'sign_in_request_not_found');
  });
});

describe('a sign-in request', () => {
  test('that is admitted makes the person with the reserved id, who then signs in', async () => {
    const at = await asking();
    const { sub, id, request } = await ask(at, { name: 'Petra Novak' });
    const admitted = await made(decide(at, id, 'admit'));
    assert.deepEqual([admitted.status, admitted.principalId], ['admitted', request['principalId']]);
    const token = await upstream.sign({ sub });
    const { principalId } = await made(signInBy(identity, at, token, 'exchange'));
    assert.equal(principalId, request['principalId']);
    const person = await made(identity.get(`/tenants/${at.tenantId}/principals/${principalId}`));
    assert.deepEqual([person.display_name, person.kind, person.status], ['Petra Novak', 'human', 'active']);
    const types = (await journalOf(identity, at.tenantId)).map(({ type }) => type);
    for (const type of ['principal.created', 'external_identity.linked', 'sign_in_request.admitted'])
      assert.equal(types.filter((found) => found === type).length, 1, type);
    const actions = (await auditOf(identity, at.tenantId)).map(({ action }) => action);
    assert.ok(actions.includes('sign_in_requests.create') && actions.includes('sign_in_requests.admit'));
  });

  test('is decided once: repetitions change nothing, and the other decision is refused', async () => {
    const at = await asking();
    const [first, second] = [await ask(at), await ask(at)];
    const admitted = await made(decide(at, first.id, 'admit'));
    assert.deepEqual(await made(decide(at, first.id, 'admit')), admitted);
    const { status, body } = await decide(at, first.id, 'refuse', {});
    assert.deepEqual([status, body.detail], [409, 'sign_in_request_decided']);
    const refused = await made(decide(at, second.id, 'refuse', { reason: 'no', forSeconds: 60 }));
    assert.deepEqual(await made(decide(at, second.id, 'refuse', { reason: 'yes' })), refused);
    assert.equal((await decide(at, second.id, 'admit')).body.detail, 'sign_in_request_decided');
    const types = (await journalOf(identity, at.tenantId)).map(({ type }) => type);
    assert.equal(types.filter((type) => type.startsWith('sign_in_request.')).length, 4);
  });

  test('is decided by one of two administrators at the same time', async () => {
    const at = await asking();
    for (let round = 0; round < byDepth(5, 100); round += 1) {
      const { id, sub } = await ask(at);
      const answers = await Promise.all([
        decide(at, id, 'admit'),
        decide(at, id, 'refuse', {}),
        decide(at, id, 'admit'),
      ]);
      const [one, refusal, two] = answers.map(({ status }) => status);
      const isAdmitted = one === 200;
      assert.deepEqual([one, refusal, two], isAdmitted ? [200, 409, 200] : [409, 200, 409]);
      const [status] = await signIn(at, { sub });
      assert.equal(status, isAdmitted ? 200 : 403);
    }
  });

  test('expires: it can be refused, not admitted', async () => {
    const at = await asking();
    const { id } = await ask(at);
    await identity.pool.run(
      sql`update sign_in_requests set expires_at = now() - interval '1 ms' where id = ${id}`,
    );
    assert.equal((await made(identity.get(`${pathOf(at)}/${id}`))).status, 'expired');
    assert.equal((await listOf(at, '?status=pending')).length, 0);
    assert.equal((await listOf(at, '?status=expired')).length, 1);
    const { status, body } = await decide(at, id, 'admit');
    assert.deepEqual([status, body.detail], [409, 'sign_in_request_expired']);
    assert.equal((await made(decide(at, id, 'refuse', {}))).status, 'refused');
  });

  test('of a disabled provider is not admitted until the provider is enabled again', async () => {
    const at = await asking();
    const { id } = await ask(at);
    const provider = `/tenants/${at.tenantId}/identity-providers/${at.key}`;
    await made(identity.post(`${provider}:disable`));
    const { status, body } = await decide(at, id, 'admit');
    assert.deepEqual([status, body.detail], [409, 'sign_in_request_outdated']);
    await made(identity.post(`${provider}:enable`));
    assert.equal((await made(decide(at, id, 'admit'))).status, 'admitted');
  });

  test('is not admitted for an identity that was linked meanwhile', async () => {
    const at = await asking({ lifecycleProfile: 'managed' });
    const { id, sub } = await ask(at);
    const person = { kind: 'human', displayName: 'Petra' };
    const principal = await made(identity.post(`/tenants/${at.tenantId}/principals`, person));
    await made(
      identity.post(`/tenants/${at.tenantId}/principals/${principal.id}/external-identities`, {
        issuer: upstream.issuer,
        subject: sub,
      }),
    );
    const { status, body } = await decide(at, id, 'admit');
    assert.deepEqual([status, body.detail], [409, 'external_identity_conflict']);
    const people = await made(identity.get(`/tenants/${at.tenantId}/principals?kind=human`));
    assert.equal(people.items.length, 1);
  });

  test('of another tenant is not found', async () => {
    const [at, other] = [await asking(), await asking()];
    const { id } = await ask(at);
    for (const act of ['admit', 'refuse'] as const)
      assert.equal((await decide(other, id, act, act === 'refuse' ? {} : undefined)).status, 404);
    assert.equal((await identity.get(`${pathOf(other)}/${randomUUID()}`)).status, 404);
  });
});

test('a request is deleted 30 days after it ended, and a refused one only when the refusal has ended', async () => {
  const at = await asking();
  const [open, expired, refused] = [await ask(at), await ask(at), await ask(at)];
  await made(decide(at, refused.id, 'refuse', { forSeconds: 31_536_000 }));
  await identity.pool.run(sql`
    update sign_in_requests set expires_at = now() - interval '31 days' where id = ${expired.id}`);
  await identity.pool.run(sql`
    update sign_in_requests set decided_at = now() - interval '31 days' where id = ${refused.id}`);
  await sweepOldRequests(identity.pool);
  const left = (await listOf(at)).map(({ id }) => id).sort();
  assert.deepEqual(left, [open.id, refused.id].sort());
});
