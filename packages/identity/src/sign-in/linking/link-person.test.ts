import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeToken } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';
import {
  everyRoute,
  makeRealm,
  newSubject,
  type Realm,
  type Route,
  routes,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import { nowSeconds, type Upstream } from '../federation/testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const enter = async (realm: Realm, claims: object, route: Route = 'authenticate') =>
  signInBy(identity, realm, await upstream.sign(claims), route);
const link = (tenantId: string, principalId: string, subject: string) =>
  made(
    identity.post(`/tenants/${tenantId}/principals/${principalId}/external-identities`, {
      issuer: `${upstream.issuer}/`,
      subject,
    }),
  );
const identityOf = (subject: string) =>
  identity.pool.row<Record<string, unknown>>(
    sql`select * from external_identities where subject = ${subject}`,
  );
const audits = async ({ tenantId }: Realm) =>
  (await auditOf(identity, tenantId)).map(({ outcome, action, reason }) => `${outcome} ${action} ${reason}`);

/** Asserts the refusal and its one audit row; nothing else may be written. */
async function refuses(realm: Realm, claims: object, route: Route, status: number, code: string) {
  const before = (await storeCounts(identity)) as Record<string, number>;
  const answer = await enter(realm, claims, route);
  assert.deepEqual([answer.status, answer.body], [status, { detail: code }]);
  assert.deepEqual(await storeCounts(identity), { ...before, audits: (before['audits'] ?? 0) + 1 });
  assert.equal(
    (await audits(realm)).at(-1),
    `denied federation.${route === 'start-session' ? 'sign_in' : route} ${code}`,
  );
}

describe('a first sign-in', () => {
  for (const route of routes)
    test(`creates the person, whatever the lifecycle profile, by ${route}`, async () => {
      for (const lifecycleProfile of ['read_only', 'managed']) {
        const realm = await makeRealm(identity, upstream, { lifecycleProfile, externalIdClaim: 'employee' });
        const [sub, employee] = [newSubject(), `e-${randomUUID()}`];
        const authTime = nowSeconds() - 60;
        const { status, body } = await enter(
          realm,
          { sub, employee, acr: 'gold', amr: ['pwd', 'otp', 'pwd'], auth_time: authTime },
          route,
        );
        assert.equal(status, 200, JSON.stringify(body));
        const { principalId, identityProvider, groups, authenticationContext, identityProviderStale } = body;
        assert.deepEqual([identityProvider, groups, identityProviderStale], [realm.key, [], false]);
        const time = new Date(authTime * 1000).toISOString();
        assert.deepEqual(authenticationContext, { acr: 'gold', amr: ['pwd', 'otp', 'pwd'], authTime: time });

        const person = (await identity.get(`/tenants/${realm.tenantId}/principals/${principalId}`)).body;
        assert.deepEqual(
          [person.kind, person.display_name, person.status],
          ['human', `${realm.key}:${employee}`, 'active'],
        );
        const linked = (await identityOf(sub)) ?? {};
        assert.deepEqual(
          [
            linked['principal_id'],
            linked['issuer'],
            linked['source'],
            linked['identity_provider_id'],
            linked['external_id'],
            linked['last_acr'],
          ],
          [principalId, upstream.issuer, 'federated', realm.providerId, employee, 'gold'],
        );
        assert.notEqual(linked['last_sign_in_at'], null);
        const events = (await journalOf(identity, realm.tenantId)).slice(-2);
        assert.deepEqual(
          events.map(({ type, aggregate_id, payload }) => [type, aggregate_id, payload]),
          [
            ['principal.created', principalId, { principalId, kind: 'human', identityProvider: realm.key }],
            [
              'external_identity.linked',
              linked['id'],
              { externalIdentityId: linked['id'], principalId, identityProvider: realm.key },
            ],
          ],
        );
        const context = await identity.pool.row(sql`
          select issuer, acr, amr, auth_time, source, external_identity_id from authentication_contexts
          where principal_id = ${principalId}`);
        assert.deepEqual(context, {
          issuer: upstream.issuer,
          acr: 'gold',
          amr: ['otp', 'pwd'],
          auth_time: time,
          source: 'federation',
          external_identity_id: linked['id'],
        });
        const recorded =
          JSON.stringify([await auditOf(identity, realm.tenantId), events]) + identity.logged.join('');
        assert.ok(!recorded.includes(sub) && !recorded.includes(employee));
      }
    });

  test('cuts the name to 200 characters, and takes the subject where the external id is empty', async () => {
    const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
    const sub = `s-${'ö'.repeat(400)}`;
    const { body } = await enter(realm, { sub, employee: '' });
    const { body: person } = await identity.get(`/tenants/${realm.tenantId}/principals/${body.principalId}`);
    assert.equal(person.display_name, [...`${realm.key}:${sub}`].slice(0, 200).join(''));
    assert.equal((await identityOf(sub))?.['external_id'], sub);
  });

  test('confirms: audit row, no acr, a time of the future is stored as now and echoed as it is', async () => {
    const realm = await makeRealm(identity, upstream);
    const sub = newSubject();
    const auth_time = nowSeconds() + 3600;
    const { body } = await enter(realm, { sub, auth_time });
    assert.deepEqual(body.authenticationContext, {
      acr: null,
      amr: [],
      authTime: new Date(auth_time * 1000).toISOString(),
    });
    const { auth_time: stored, recorded_at } =
      (await identity.pool.row<Record<string, string>>(sql`
      select auth_time, recorded_at from authentication_contexts where principal_id = ${body.principalId}`)) ??
      {};
    assert.equal(stored, recorded_at);
    const { action, actor_ref, resource_type, resource_id, outcome, reason } =
      (await auditOf(identity, realm.tenantId)).at(-1) ?? {};
    assert.deepEqual(
      [action, actor_ref, resource_type, resource_id, outcome, reason],
      [
        'federation.authenticate',
        body.principalId,
        'external_identity',
        (await identityOf(sub))?.['id'],
        'allowed',
        `provider:${realm.key} acr:none`,
      ],
    );
    for (const strange of [
      { auth_time: 'now' },
      { auth_time: 1e15 },
      { auth_time: -1e15 },
      { amr: 7, acr: 7 },
    ])
      assert.deepEqual((await enter(realm, { sub, ...strange })).body.authenticationContext, {
        acr: null,
        amr: [],
        authTime: null,
      });
  });

  test('cuts a long acr in the audit log between two characters', async () => {
    const realm = await makeRealm(identity, upstream);
    const acr = `${'x'.repeat(199)}😀😀`;
    assert.equal((await enter(realm, { sub: newSubject(), acr })).status, 200);
    const reason = (await auditOf(identity, realm.tenantId)).at(-1)?.reason;
    assert.equal(reason, `provider:${realm.key} acr:${'x'.repeat(199)}😀`);
  });

  test('allows issuing a token without an authentication context made by the administrator', async () => {
    const realm = await makeRealm(identity, upstream);
    const { body } = await enter(realm, { sub: newSubject(), acr: 'gold', amr: ['otp'] });
    const { credential } = await makeToken(identity, realm.tenantId, body.principalId);
    assert.equal(credential.principalId, body.principalId);
  });
});

describe('a further sign-in', () => {
  test('finds the same person and writes no journal row', async () => {
    const realm = await makeRealm(identity, upstream);
    const sub = newSubject();
    const first = await enter(realm, { sub });
    const before = (await journalOf(identity, realm.tenantId)).length;
    const second = await enter(realm, { sub });
    assert.equal(second.body.principalId, first.body.principalId);
    assert.equal((await journalOf(identity, realm.tenantId)).length, before);
  });

  test('takes over a link made by hand, fills its external id, and audits that once', async () => {
    const realm = await makeRealm(identity, upstream, {
      lifecycleProfile: 'managed',
      externalIdClaim: 'employee',
    });
    const principalId = await makePrincipal(identity, realm.tenantId, 'human');
    const sub = newSubject();
    const { id } = await link(realm.tenantId, principalId, sub);
    for (const _ of [1, 2])
      assert.equal((await enter(realm, { sub, employee: 'e-7' })).body.principalId, principalId);
    const linked = (await identityOf(sub)) ?? {};
    assert.deepEqual(
      [linked['id'], linked['identity_provider_id'], linked['source'], linked['external_id']],
      [id, realm.providerId, 'federated', 'e-7'],
    );
    const adopted = (await auditOf(identity, realm.tenantId)).filter(
      ({ action }) => action === 'federation.identity_adopted',
    );
    assert.deepEqual(
      adopted.map(({ actor_ref, resource_id, outcome, reason }) => [actor_ref, resource_id, outcome, reason]),
      [[principalId, id, 'allowed', `provider:${realm.key}`]],
    );
  });

  test('under another subject with the same external id is the same person, and is audited', async () => {
    const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
    const [former, next] = [newSubject(), newSubject()];
    const first = await enter(realm, { sub: former, employee: 'e-8' });
    const second = await enter(realm, { sub: next, employee: 'e-8' });
    assert.equal(second.body.principalId, first.body.principalId);
    assert.equal(await identityOf(former), undefined);
    assert.equal((await identityOf(next))?.['principal_id'], first.body.principalId);
    assert.ok((await audits(realm)).includes(`allowed federation.subject_rotated provider:${realm.key}`));
  });

  test('replaces the placeholder subject of a provisioned person', async () => {
    const realm = await makeRealm(identity, upstream, {
      lifecycleProfile: 'managed',
      externalIdClaim: 'employee',
    });
    const principalId = await makePrincipal(identity, realm.tenantId, 'human');
    const placeholder = `urn:iam:scim:source:${randomUUID()}`;
    await identity.pool.run(sql`
      insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id, external_id)
      values (${randomUUID()}, ${realm.tenantId}, ${principalId}, ${upstream.issuer}, ${placeholder}, 'provisioned',
        ${realm.providerId}, 'e-9')`);
    const sub = newSubject();
    assert.equal((await enter(realm, { sub, employee: 'e-9' })).body.principalId, principalId);
    assert.equal((await identityOf(sub))?.['source'], 'provisioned');
  });

  test('of a linked agent is confirmed without an authentication context', async () => {
    const realm = await makeRealm(identity, upstream, { lifecycleProfile: 'managed' });
    const principalId = await makePrincipal(identity, realm.tenantId, 'agent');
    const sub = newSubject();
    await link(realm.tenantId, principalId, sub);
    assert.equal((await enter(realm, { sub })).status, 200);
    const row = await identity.pool.row(
      sql`select 1 from authentication_contexts where principal_id = ${principalId}`,
    );
    assert.equal(row, undefined);
  });
});

for (const route of everyRoute)
  describe(`an unusable link, by ${route}`, () => {
    test('subject and external id of different people are a conflict, and so is a changed external id', async () => {
      const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
      const [one, two] = [newSubject(), newSubject()];
      await enter(realm, { sub: one, employee: 'e-1' });
      await enter(realm, { sub: two, employee: 'e-2' });
      await refuses(realm, { sub: one, employee: 'e-2' }, route, 409, 'external_identity_conflict');
      await refuses(realm, { sub: one, employee: 'e-3' }, route, 409, 'external_identity_conflict');
    });

    test('disabled identity, disabled or paused principal, no membership: in this order', async () => {
      const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
      const sub = newSubject();
      const { principalId } = (await enter(realm, { sub, employee: 'e-1' })).body;
      const claims = { sub, employee: 'e-1' };
      await identity.pool.run(
        sql`update memberships set status = 'disabled' where principal_id = ${principalId}`,
      );
      await refuses(realm, claims, route, 403, 'principal_not_in_tenant');
      await identity.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
      await refuses(realm, claims, route, 403, 'principal_disabled');
      await identity.pool.run(sql`update principals set status = 'disabled' where id = ${principalId}`);
      await refuses(realm, claims, route, 403, 'principal_disabled');
      await refuses(realm, { sub, employee: 'e-2' }, route, 409, 'external_identity_conflict');
      await identity.pool.run(sql`update external_identities set status = 'disabled' where subject = ${sub}`);
      await refuses(realm, { sub, employee: 'e-2' }, route, 403, 'identity_disabled');
    });

    test('a person of another tenant with the same issuer and subject is refused', async () => {
      const [here, elsewhere] = [await makeRealm(identity, upstream), await makeRealm(identity, upstream)];
      const sub = newSubject();
      const { principalId } = (await enter(elsewhere, { sub })).body;
      await refuses(here, { sub }, route, 403, 'principal_not_in_tenant');
      await identity.pool.run(sql`
        insert into memberships (tenant_id, principal_id) values (${here.tenantId}, ${principalId})`);
      assert.equal((await enter(here, { sub }, route)).status, 200);
      assert.equal((await identityOf(sub))?.['principal_id'], principalId);
      assert.equal((await identityOf(sub))?.['identity_provider_id'], elsewhere.providerId);
      await identity.pool.run(sql`update external_identities set external_id = '' where subject = ${sub}`);
      assert.equal((await enter(here, { sub }, route)).status, 200);
      assert.equal(
        (await identityOf(sub))?.['external_id'],
        '',
        "another provider's external ids are its own",
      );
    });

    test('a disabled tenant has no identity provider', async () => {
      const realm = await makeRealm(identity, upstream);
      await identity.pool.run(sql`update tenants set status = 'disabled' where id = ${realm.tenantId}`);
      const { status, body } = await enter(realm, { sub: newSubject() }, route);
      assert.deepEqual([status, body], [404, { detail: 'identity_provider_not_found' }]);
    });
  });

test('a provider or tenant that is disabled while keys are fetched refuses the sign-in', async () => {
  const realm = await makeRealm(identity, upstream, { jwksCacheTtlSeconds: 0 });
  const token = await upstream.sign({ sub: newSubject() });
  const slow = upstream.delay(150);
  const entering = signInBy(identity, realm, token);
  await slow.firstRequest;
  await made(identity.post(`/tenants/${realm.tenantId}/identity-providers/${realm.key}:disable`));
  const { status, body } = await entering;
  slow.end();
  assert.deepEqual([status, body], [404, { detail: 'identity_provider_not_found' }]);
});
