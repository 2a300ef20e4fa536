import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { auditOf } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import { startUpstream, type Upstream } from '../federation/testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
let moved: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
  moved = await startUpstream();
});
after(async () => {
  await identity.close();
  await upstream.close();
  await moved.close();
});

const pathOf = ({ tenantId, key }: Realm) => `/tenants/${tenantId}/identity-providers/${key}`;
const move = (at: Realm, changes: object = {}) =>
  identity.patch(pathOf(at), { issuer: `${moved.issuer}/`, ...changes });
const signIn = async (at: Realm, from: Upstream, sub: string) =>
  signInBy(identity, at, await from.sign({ sub }));

async function isSomebodyWaiting(): Promise<boolean> {
  const waiting = await identity.pool.rows(sql`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  return waiting.length > 0;
}

test('the issuer of a provider without people changes, with or without a slash at its end', async () => {
  const at = await makeRealm(identity, upstream);
  const changed = await made(move(at));
  assert.equal(changed.issuer, moved.issuer);
  const audits = await auditOf(identity, at.tenantId);
  assert.match(String(audits.at(-1)?.reason), /changed:issuer/);
  assert.equal((await signIn(at, moved, newSubject())).status, 200);
  const { status, body } = await signIn(at, upstream, newSubject());
  assert.equal(status, 401, JSON.stringify(body));
  assert.deepEqual(await made(move(at)), changed);
});

test('with linked people the change states their fate; moved ones are the same people, by the new issuer only', async () => {
  const at = await makeRealm(identity, upstream);
  const sub = newSubject();
  const { principalId } = await made(signIn(at, upstream, sub));
  const undecided = await move(at);
  assert.deepEqual([undecided.status, undecided.body.detail], [409, 'linked_people_undecided']);
  assert.equal((await made(identity.get(pathOf(at)))).issuer, upstream.issuer);
  await made(move(at, { linkedPeople: 'move' }));
  assert.equal((await made(signIn(at, moved, sub))).principalId, principalId);
  assert.equal((await signIn(at, upstream, sub)).status, 401);
});

test('a sign-in that began at the former issuer names nobody at the new one', async () => {
  const at = await makeRealm(identity, upstream);
  const sub = newSubject();
  const begun = await identity.pool.transaction(async (tx) => {
    await tx.run(sql`
      update identity_providers set issuer = ${moved.issuer}, registered_issuer = ${moved.issuer}
      where id = ${at.providerId}`);
    const answer = signIn(at, upstream, sub);
    await until(isSomebodyWaiting, 'the sign-in waits for the change of its provider');
    return { answer };
  });
  const { status, body, headers } = await begun.answer;
  assert.deepEqual([status, body], [503, { detail: 'identity_provider_unavailable' }]);
  assert.equal(headers.get('retry-after'), '1');
  const people = await made(identity.get(`/tenants/${at.tenantId}/principals?kind=human`));
  assert.deepEqual(people.items, []);
  assert.equal((await signIn(at, upstream, sub)).status, 401);
});

test('detached people are not those whom the new issuer names by the same subjects', async () => {
  const at = await makeRealm(identity, upstream, { unknownPeople: 'request' });
  await made(identity.patch(pathOf(at), { unknownPeople: 'create' }));
  const sub = newSubject();
  await made(signIn(at, upstream, sub));
  await made(move(at, { linkedPeople: 'detach', unknownPeople: 'request' }));
  const { status, body } = await signIn(at, moved, sub);
  assert.deepEqual([status, body.detail], [403, 'admission_pending']);
});

test('pending sign-in requests end with the move: the subject of one issuer is not admitted for another', async () => {
  const at = await makeRealm(identity, upstream, { unknownPeople: 'request' });
  await signIn(at, upstream, newSubject());
  const requests = `/tenants/${at.tenantId}/sign-in-requests`;
  const [request] = (await made(identity.get(requests))).items;
  await made(move(at));
  const late = await identity.post(`${requests}/${request.id}:admit`);
  assert.deepEqual([late.status, late.body.detail], [409, 'sign_in_request_expired']);
});

test('a taken or unusable issuer, that of programs and that of a directory are refused', async () => {
  const at = await makeRealm(identity, upstream);
  const second = { key: 'second', issuer: 'https://second.example', audience: 'x' };
  await made(identity.post(`/tenants/${at.tenantId}/identity-providers`, second));
  const taken = await identity.patch(pathOf(at), { issuer: 'https://second.example//' });
  assert.deepEqual([taken.status, taken.body.detail], [409, 'identity_provider_exists']);
  for (const issuer of ['https://x.example?y', 'ftp://x.example']) {
    const { status, body } = await identity.patch(pathOf(at), { issuer });
    assert.deepEqual([status, body.detail], [422, 'invalid_issuer']);
  }
  for (const principalKind of ['workload', 'none']) {
    const programs = await makeRealm(identity, upstream, { principalKind });
    const { status, body } = await move(programs);
    assert.deepEqual([status, body.detail], [409, 'issuer_not_changeable']);
  }
  const both = await move(at, { principalKind: 'none' });
  assert.equal(both.body.detail, 'issuer_not_changeable');
});

test('an identity of the new issuer that belongs to somebody else is in the way of a move', async () => {
  const at = await makeRealm(identity, upstream);
  const other = await makeRealm(identity, moved);
  const sub = newSubject();
  await made(signIn(at, upstream, sub));
  await made(signIn(other, moved, sub));
  const { status, body } = await move(at, { linkedPeople: 'move' });
  assert.deepEqual([status, body.detail], [409, 'external_identity_conflict']);
});

test('people of a directory are not detached', async () => {
  const { tenantId } = await makeProvisioning(identity);
  const at = { tenantId, key: 'entra', providerId: '' };
  const { id: principalId } = await made(
    identity.post(`/tenants/${tenantId}/principals`, { kind: 'human', displayName: 'Ada' }),
  );
  const { issuer } = await made(identity.get(pathOf(at)));
  await made(
    identity.post(`/tenants/${tenantId}/principals/${principalId}/external-identities`, {
      issuer,
      subject: newSubject(),
    }),
  );
  await identity.pool.run(sql`
    update external_identities set identity_provider_id =
      (select id from identity_providers where tenant_id = ${tenantId} and key = 'entra')
    where principal_id = ${principalId}`);
  const { status, body } = await identity.patch(pathOf(at), {
    issuer: 'https://new.example',
    linkedPeople: 'detach',
  });
  assert.deepEqual([status, body.detail], [409, 'population_managed_by_directory']);
});
