import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { auditOf, journalOf, journalTypes, storeCounts } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import {
  acceptByPasskey,
  ask,
  invite,
  makeHuman,
  makePerson,
  signInWith,
} from '../passkeys/testing/people.ts';
import { sweepOldInvitations } from './old-invitations.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const read = (token: string, at = identity) => ask(at, '/invitations:read', { token });
const refused = [401, { detail: 'invalid_invitation' }];

async function assertRefused(token: string): Promise<void> {
  for (const action of ['read', 'registration-options']) {
    const { status, body } = await ask(identity, `/invitations:${action}`, { token });
    assert.deepEqual([status, body], refused, action);
  }
}

const statusOf = async (tenantId: string, principalId: string) =>
  (await made(identity.get(`/tenants/${tenantId}/principals/${principalId}`))).status;

describe('an invitation', () => {
  test('makes a person who is paused until they accept, and a link whose secret is shown once', async () => {
    const tenantId = await makeTenant(identity);
    const wanted = {
      displayName: 'Maria Lopez',
      email: 'maria@example.com',
      role: 'member',
      invitedBy: 'Ana Ruiz',
      message: 'Welcome!',
    };
    const answer = await identity.post(`/tenants/${tenantId}/invitations`, wanted);
    assert.deepEqual([answer.status, answer.headers.get('cache-control')], [201, 'no-store']);
    const { token, invitation } = answer.body;
    assert.match(token, /^iam_inv_[0-9a-f]{12}_[\w-]{43}$/);
    const { id, principalId, createdAt, expiresAt, publicPrefix, ...rest } = invitation;
    assert.equal(publicPrefix, token.slice(8, 20));
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 7 * 86_400_000);
    assert.deepEqual(rest, {
      tenantId,
      kind: 'invitation',
      ...wanted,
      replacesCredentials: false,
      status: 'open',
      acceptedAt: null,
      acceptedBy: null,
      revokedAt: null,
      revokeReason: '',
    });
    assert.equal(await statusOf(tenantId, principalId), 'paused');
    assert.deepEqual(await made(identity.get(`/tenants/${tenantId}/invitations/${id}`)), invitation);
    assert.deepEqual(await journalTypes(identity, tenantId), [
      'tenant.created',
      'principal.created',
      'invitation.created',
    ]);
    const { payload } = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(payload, {
      invitationId: id,
      principalId,
      kind: 'invitation',
      role: 'member',
      expiresInSeconds: 604_800,
    });
    const shown = (await read(token)).body;
    assert.deepEqual(shown, {
      kind: 'invitation',
      tenantName: 'A tenant',
      displayName: 'Maria Lopez',
      invitedBy: 'Ana Ruiz',
      message: 'Welcome!',
      role: 'member',
      replacesCredentials: false,
      expiresAt,
      identityProviders: [],
    });
  });

  test('is accepted by a passkey: all of it in one act, and the person can sign in', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const { token, invitation } = await invite(identity, tenantId, {
      role: 'lead',
      email: 'maria@example.com',
    });
    const { publicKey } = await made(ask(identity, '/invitations:registration-options', { token }));
    const { name, displayName } = publicKey.user;
    assert.deepEqual([name, displayName], ['maria@example.com', 'Maria Lopez']);
    const authenticator = new VirtualAuthenticator();
    const answer = await acceptByPasskey(identity, token, authenticator);
    assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'no-store']);
    const { principalId } = invitation;
    const { session } = answer.body;
    assert.deepEqual([session.principalId, session.tenantId, session.acr], [principalId, tenantId, 'phr']);
    assert.equal(await statusOf(tenantId, principalId), 'active');
    const types = (await journalTypes(identity, tenantId)).slice(-5);
    assert.deepEqual(types, [
      'principal.enabled',
      'external_identity.linked',
      'passkey.registered',
      'invitation.accepted',
      'browser_session.started',
    ]);
    const accepted = await made(identity.get(`/tenants/${tenantId}/invitations/${invitation.id}`));
    assert.deepEqual(
      [accepted.status, accepted.acceptedBy, accepted.revokedAt],
      ['accepted', 'passkey', null],
    );
    const exchanged = { token: answer.body.token, audience: 'control-plane' };
    assert.equal((await ask(identity, '/browser-sessions:exchange', exchanged)).status, 200);
    assert.equal((await signInWith(identity, authenticator)).status, 200);
    const actions = (await auditOf(identity, tenantId)).filter(({ actor_ref }) => actor_ref === principalId);
    assert.deepEqual(actions.map(({ action }) => action).slice(0, 4), [
      'external_identities.link',
      'passkeys.register',
      'invitations.accept',
      'browser_sessions.issue',
    ]);
    await assertRefused(token);
    const records = JSON.stringify([await journalOf(identity, tenantId), await auditOf(identity, tenantId)]);
    assert.ok(!/Maria|maria@/.test(records), 'neither name nor e-mail');
  });

  test('of a person of the tenant keeps them as they are', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makeHuman(identity, tenantId);
    const { token, invitation } = await invite(identity, tenantId, { principalId });
    assert.deepEqual([invitation.principalId, invitation.displayName], [principalId, 'A human']);
    assert.equal((await acceptByPasskey(identity, token)).body.session.principalId, principalId);
    assert.ok(!(await journalTypes(identity, tenantId)).includes('principal.enabled'));
  });

  test('replaces the earlier links of its person, also of one who has not accepted yet', async () => {
    const tenantId = await makeTenant(identity);
    const first = await invite(identity, tenantId);
    const { principalId } = first.invitation;
    const second = await invite(identity, tenantId, { principalId });
    await assertRefused(first.token);
    const earlier = await made(identity.get(`/tenants/${tenantId}/invitations/${first.invitation.id}`));
    assert.deepEqual([earlier.status, earlier.revokeReason], ['revoked', 'replaced']);
    assert.equal((await acceptByPasskey(identity, second.token)).status, 200);
    assert.equal(await statusOf(tenantId, principalId), 'active');
  });

  test('cannot be made for somebody else, a program, a disabled person or one whom an operator paused', async () => {
    const tenantId = await makeTenant(identity);
    const refuse = async (principalId: string, code: string, at = tenantId) => {
      for (const [path, body] of [
        [`/tenants/${at}/invitations`, { principalId }],
        [`/tenants/${at}/principals/${principalId}/recovery-links`, {}],
      ] as const)
        assert.equal((await identity.post(path, body)).body.detail, code, path);
    };
    const principalId = await makeHuman(identity, tenantId);
    await refuse(randomUUID(), 'principal_not_found');
    await refuse(principalId, 'principal_not_found', await makeTenant(identity));
    await refuse(principalId, 'tenant_not_found', randomUUID());
    await refuse(await makePrincipal(identity, tenantId, 'agent'), 'human_principal_required');
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
    await refuse(principalId, 'principal_not_active');
    const person = await makePerson(identity, tenantId);
    await made(identity.post(`/tenants/${tenantId}/principals/${person.principalId}:disable`));
    await refuse(person.principalId, 'principal_not_active');
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${person.principalId}`);
    await refuse(person.principalId, 'principal_not_active');
    const before = await storeCounts(identity);
    assert.equal(
      (await identity.post(`/tenants/${randomUUID()}/invitations`, { displayName: 'x' })).status,
      404,
    );
    assert.equal(
      (await identity.get(`/tenants/${randomUUID()}/invitations`)).body.detail,
      'tenant_not_found',
    );
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('needs a name or a person, and lives 60 s to 30 days', async () => {
    const tenantId = await makeTenant(identity);
    const create = async (body: object) =>
      (await identity.post(`/tenants/${tenantId}/invitations`, body)).status;
    const displayName = 'x';
    assert.equal(await create({}), 422);
    assert.equal(await create({ displayName, principalId: randomUUID() }), 422);
    for (const [expiresInSeconds, status] of [
      [59, 422],
      [60, 201],
      [2_592_000, 201],
      [2_592_001, 422],
    ] as const)
      assert.equal(await create({ displayName, expiresInSeconds }), status, `${expiresInSeconds}`);
  });

  test('is refused beyond the number of open links of the tenant, exactly, also of parallel ones', async () => {
    const few = await identity.another({ IAM_INVITATIONS_OPEN_MAX: '3' });
    const tenantId = await makeTenant(identity);
    const create = () => few.post(`/tenants/${tenantId}/invitations`, { displayName: 'x' });
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    const codes = answers.map(({ status, body }) => (status === 201 ? 'made' : body.detail)).sort();
    assert.deepEqual(codes, ['made', 'made', 'made', ...Array(5).fill('too_many_invitations')]);
    const path = `/tenants/${tenantId}/invitations`;
    const [first, second] = (await made(few.get(`${path}?status=open`))).items;
    assert.equal((await few.post(`${path}/${first.id}:revoke`)).status, 204);
    assert.equal((await create()).status, 201);
    await identity.pool.run(
      sql`update invitations set expires_at = now() - interval '1 ms' where id = ${second.id}`,
    );
    assert.equal((await create()).status, 201);
    const person = await makeHuman(identity, tenantId);
    const recovery = await few.post(`/tenants/${tenantId}/principals/${person}/recovery-links`, {});
    assert.equal(recovery.body.detail, 'too_many_invitations');
    const existing = await few.post(path, { principalId: person });
    assert.equal(existing.body.detail, 'too_many_invitations');
  });

  test('is listed in pages, by status and by person', async () => {
    const tenantId = await makeTenant(identity);
    const path = `/tenants/${tenantId}/invitations`;
    const links = [];
    for (let at = 0; at < 3; at += 1) links.push(await invite(identity, tenantId));
    const ids = links.map(({ invitation }) => invitation.id);
    const page = await made(identity.get(`${path}?limit=2`));
    assert.deepEqual(
      page.items.map(({ id }: { id: string }) => id),
      ids.slice(0, 2),
    );
    const rest = await made(identity.get(`${path}?limit=2&after=${page.next_after}`));
    assert.deepEqual([rest.items[0].id, rest.next_after], [ids[2], null]);
    await identity.post(`${path}/${ids[0]}:revoke`);
    await identity.pool.run(
      sql`update invitations set expires_at = now() - interval '1 ms' where id = ${ids[1]}`,
    );
    await acceptByPasskey(identity, links[2]?.token as string);
    for (const [at, status] of ['revoked', 'expired', 'accepted'].entries()) {
      const { items } = await made(identity.get(`${path}?status=${status}`));
      assert.deepEqual(
        items.map(({ id }: { id: string }) => id),
        [ids[at]],
        status,
      );
    }
    const { principalId } = links[0]?.invitation ?? {};
    const own = await made(identity.get(`${path}?principalId=${principalId}`));
    assert.deepEqual(
      own.items.map(({ id }: { id: string }) => id),
      [ids[0]],
    );
  });

  test('is revoked once, and not after it was accepted', async () => {
    const tenantId = await makeTenant(identity);
    const { token, invitation } = await invite(identity, tenantId);
    const path = `/tenants/${tenantId}/invitations/${invitation.id}`;
    for (const reason of ['mistake', 'again'])
      assert.equal((await identity.post(`${path}:revoke?reason=${reason}`)).status, 204);
    assert.equal((await made(identity.get(path))).revokeReason, 'mistake');
    const types = await journalTypes(identity, tenantId);
    assert.equal(types.filter((type) => type === 'invitation.revoked').length, 1);
    await assertRefused(token);
    const other = await invite(identity, tenantId);
    await acceptByPasskey(identity, other.token);
    const late = await identity.post(`/tenants/${tenantId}/invitations/${other.invitation.id}:revoke`);
    assert.deepEqual([late.status, late.body], [409, { detail: 'invitation_accepted' }]);
    const elsewhere = `/tenants/${await makeTenant(identity)}/invitations/${invitation.id}`;
    assert.equal((await identity.get(elsewhere)).body.detail, 'invitation_not_found');
    assert.equal((await identity.post(`${elsewhere}:revoke`)).body.detail, 'invitation_not_found');
  });
});

describe('a link that cannot be used has one response, and the audit record has the reason', () => {
  test('unknown and forged ones', async () => {
    const { token } = await invite(identity, await makeTenant(identity));
    for (const wrong of ['x', `iam_inv_${'0'.repeat(12)}_${'x'.repeat(43)}`, `${token}x`, token.slice(0, -1)])
      await assertRefused(wrong);
    assert.equal((await read(token)).status, 200);
  });

  for (const [reason, change] of Object.entries({
    invitation_revoked: sql`update invitations set revoked_at = now() where accepted_at is null`,
    invitation_expired: sql`update invitations set expires_at = now() - interval '1 ms'`,
    tenant_not_active: sql`update tenants set status = 'disabled'`,
    membership_not_active: sql`update memberships set status = 'disabled'`,
    principal_not_active: sql`update principals set status = 'disabled'`,
  }))
    test(reason, async () => {
      const own = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
      const tenantId = await makeTenant(own);
      const { token } = await invite(own, tenantId);
      const options = await made(ask(own, '/invitations:registration-options', { token }));
      await own.pool.run(change);
      const credential = new VirtualAuthenticator().create(options.publicKey);
      const passkey = { state: options.state, credential, name: 'x' };
      const { status, body } = await ask(own, '/invitations:accept', { token, passkey });
      assert.deepEqual([status, body], refused);
      await until(async () => (await auditOf(own, tenantId)).at(-1)?.reason === reason, reason);
      const row = await own.pool.row<{ count: number }>(sql`select count(*) as count from passkeys`);
      assert.equal(row?.count, 0);
      await own.close();
    });

  test('failures are counted by address and by link', async () => {
    const { token } = await invite(identity, await makeTenant(identity));
    const strict = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '1' });
    assert.equal((await read(`${token}x`, strict)).status, 401);
    for (const action of ['read', 'registration-options'])
      assert.equal((await ask(strict, `/invitations:${action}`, { token })).status, 429);
    const federation = { identityProvider: 'x', token: 'x' };
    assert.equal((await ask(strict, '/invitations:accept', { token, federation })).status, 429);
    const guarded = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '1' });
    assert.equal((await read(`${token}x`, guarded)).status, 401);
    assert.equal((await read(`${token}x`, guarded)).status, 429);
    assert.equal((await read(token, guarded)).status, 200);
  });
});

describe('acceptance is refused, and nothing of it is stored,', () => {
  test('with the response of another page, a used state, and the state of another link', async () => {
    const tenantId = await makeTenant(identity);
    const [one, other] = [await invite(identity, tenantId), await invite(identity, tenantId)];
    const before = await storeCounts(identity);
    const evil = { origin: 'https://evil.example' };
    const answer = await acceptByPasskey(identity, one.token, new VirtualAuthenticator(), evil);
    assert.deepEqual([answer.status, answer.body], [422, { detail: 'passkey_rejected' }]);
    const options = await made(ask(identity, '/invitations:registration-options', { token: other.token }));
    const credential = new VirtualAuthenticator().create(options.publicKey);
    const passkey = { state: options.state, credential, name: 'x' };
    const { body } = await ask(identity, '/invitations:accept', { token: one.token, passkey });
    assert.deepEqual(body, { detail: 'passkey_rejected' });
    assert.deepEqual(await storeCounts(identity), before);
    assert.equal(await statusOf(tenantId, one.invitation.principalId), 'paused');
    assert.equal((await acceptByPasskey(identity, one.token)).status, 200);
  });

  test('with a passkey that somebody has', async () => {
    const tenantId = await makeTenant(identity);
    const { credentialId } = (await makePerson(identity, tenantId)).authenticator;
    const { token, invitation } = await invite(identity, tenantId);
    const answer = await acceptByPasskey(identity, token, new VirtualAuthenticator(), { credentialId });
    assert.deepEqual([answer.status, answer.body], [409, { detail: 'passkey_exists' }]);
    assert.equal(await statusOf(tenantId, invitation.principalId), 'paused');
    assert.equal((await read(token)).status, 200, 'the link is not used up');
  });

  test('for a person who has as many passkeys as allowed', async () => {
    const few = await identity.another({ IAM_PASSKEYS_PER_PERSON_MAX: '1' });
    const tenantId = await makeTenant(identity);
    const person = await makePerson(few, tenantId);
    const { token } = await invite(identity, tenantId, { principalId: person.principalId });
    const options = await ask(few, '/invitations:registration-options', { token });
    assert.deepEqual([options.status, options.body.detail], [409, 'too_many_passkeys']);
    const { publicKey, state } = await made(ask(identity, '/invitations:registration-options', { token }));
    const passkey = { state, credential: new VirtualAuthenticator().create(publicKey), name: 'x' };
    const answer = await ask(few, '/invitations:accept', { token, passkey });
    assert.deepEqual([answer.status, answer.body.detail], [409, 'too_many_passkeys']);
  });

  test('with neither or both of passkey and sign-in', async () => {
    const { token } = await invite(identity, await makeTenant(identity));
    const { publicKey, state } = await made(ask(identity, '/invitations:registration-options', { token }));
    const passkey = { state, credential: new VirtualAuthenticator().create(publicKey), name: 'x' };
    const federation = { identityProvider: 'x', token: 'x' };
    for (const body of [{ token }, { token, passkey, federation }])
      assert.equal((await ask(identity, '/invitations:accept', body)).status, 422);
  });
});

describe('a link that ended long ago', () => {
  /** Makes all links of a person old, and sweeps. @returns the ids of those that are left */
  async function sweep(tenantId: string, principalId: string): Promise<string[]> {
    await identity.pool.run(sql`
      update invitations set expires_at = now() - interval '91 days' where principal_id = ${principalId}`);
    await sweepOldInvitations(identity.pool);
    const { items } = await made(identity.get(`/tenants/${tenantId}/invitations?principalId=${principalId}`));
    return items.map(({ id }: { id: string }) => id);
  }

  test('is deleted once its person has accepted or is not paused, and a recent one is kept', async () => {
    const tenantId = await makeTenant(identity);
    const { principalId } = await makePerson(identity, tenantId);
    await invite(identity, tenantId, { principalId });
    const recent = (await invite(identity, tenantId)).invitation;
    assert.deepEqual(await sweep(tenantId, principalId), []);
    assert.equal((await made(identity.get(`/tenants/${tenantId}/invitations/${recent.id}`))).status, 'open');
  });

  test('is kept while its person has not accepted, who can be invited again', async () => {
    const tenantId = await makeTenant(identity);
    const { invitation } = await invite(identity, tenantId);
    const { principalId } = invitation;
    assert.deepEqual(await sweep(tenantId, principalId), [invitation.id]);
    const again = await invite(identity, tenantId, { principalId });
    assert.equal((await acceptByPasskey(identity, again.token)).status, 200);
    assert.equal(await statusOf(tenantId, principalId), 'active');
  });

  test('is kept after its acceptance while an earlier link exists, so nobody revives a paused person', async () => {
    const tenantId = await makeTenant(identity);
    const first = (await invite(identity, tenantId)).invitation;
    const { principalId } = first;
    const second = await invite(identity, tenantId, { principalId });
    await made(acceptByPasskey(identity, second.token));
    await identity.pool.run(sql`
      update invitations set expires_at = now() - interval '91 days' where id = ${second.invitation.id}`);
    await sweepOldInvitations(identity.pool);
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
    const { status, body } = await identity.post(`/tenants/${tenantId}/invitations`, { principalId });
    assert.deepEqual([status, body.detail], [409, 'principal_not_active']);
  });
});
