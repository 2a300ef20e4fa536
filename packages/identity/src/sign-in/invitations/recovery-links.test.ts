import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeTenant } from '../../testing/objects.ts';
import { journalOf, journalTypes } from '../../testing/records.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import {
  acceptByPasskey,
  addPasskey,
  ask,
  invite,
  makePerson,
  passkeyIds,
  signInWith,
} from '../passkeys/testing/people.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const read = (token: string) => ask(identity, '/invitations:read', { token });

async function assertRefused(token: string): Promise<void> {
  for (const action of ['read', 'registration-options']) {
    const { status, body } = await ask(identity, `/invitations:${action}`, { token });
    assert.deepEqual([status, body], [401, { detail: 'invalid_invitation' }], action);
  }
}

describe('a recovery link', () => {
  async function recover(tenantId: string, principalId: string, body: object = {}) {
    const path = `/tenants/${tenantId}/principals/${principalId}/recovery-links`;
    const answer = await identity.post(path, body);
    assert.deepEqual([answer.status, answer.headers.get('cache-control')], [201, 'no-store']);
    return answer.body;
  }

  test('without replaceCredentials adds a passkey to the person, and keeps the others', async () => {
    const tenantId = await makeTenant(identity);
    const person = await makePerson(identity, tenantId);
    const wanted = { expiresInSeconds: 600, replaceCredentials: false };
    const { token, invitation } = await recover(tenantId, person.principalId, wanted);
    assert.deepEqual([invitation.kind, invitation.replacesCredentials], ['recovery', false]);
    const fresh = new VirtualAuthenticator();
    assert.equal((await acceptByPasskey(identity, token, fresh)).status, 200);
    assert.equal(fresh.userHandle, person.authenticator.userHandle);
    for (const authenticator of [fresh, person.authenticator])
      assert.equal((await signInWith(identity, authenticator)).status, 200);
    assert.equal((await ask(identity, '/passkeys:list', { token: person.token })).status, 200);
    await assertRefused(token);
    const [first, second] = [
      await recover(tenantId, person.principalId),
      await recover(tenantId, person.principalId),
    ];
    await assertRefused(first.token);
    assert.equal((await read(second.token)).body.kind, 'recovery');
    const types = (await journalTypes(identity, tenantId)).slice(-2);
    assert.deepEqual(types, ['invitation.revoked', 'invitation.created']);
  });

  test('ends the other passkeys and the sessions when it is accepted, not before', async () => {
    const tenantId = await makeTenant(identity);
    const person = await makePerson(identity, tenantId);
    await made(addPasskey(identity, person.token));
    const former = await passkeyIds(identity, person);
    const { token } = await recover(tenantId, person.principalId);
    assert.equal((await read(token)).body.replacesCredentials, true);
    assert.equal((await signInWith(identity, person.authenticator)).status, 200);
    const fresh = new VirtualAuthenticator();
    const accepted = await made(acceptByPasskey(identity, token, fresh));
    assert.equal((await signInWith(identity, person.authenticator)).status, 401);
    assert.equal((await ask(identity, '/passkeys:list', { token: person.token })).status, 401);
    assert.equal((await signInWith(identity, fresh)).status, 200);
    const left = await made(ask(identity, '/passkeys:list', { token: accepted.token }));
    assert.equal(left.items.length, 1);
    const events = await journalOf(identity, tenantId);
    const removed = events.filter(({ type }) => type === 'passkey.removed');
    assert.deepEqual(removed.map(({ aggregate_id }) => aggregate_id).sort(), former.sort());
    const reasons = new Set(removed.map(({ payload }) => payload.reason));
    assert.deepEqual([...reasons], ['replaced_by_recovery']);
    assert.equal(events.filter(({ type }) => type === 'browser_session.revoked').length, 2);
  });
});

test('a disable revokes the open links of the person in all tenants, and enabling them revives none', async () => {
  const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
  const { principalId } = await makePerson(identity, tenantId);
  await identity.pool.run(
    sql`insert into memberships (tenant_id, principal_id) values (${otherId}, ${principalId})`,
  );
  const links = [
    await invite(identity, tenantId, { principalId }),
    await invite(identity, otherId, { principalId }),
  ];
  const path = `/tenants/${tenantId}/principals/${principalId}`;
  await made(identity.post(`${path}:disable?reason=left%20us`));
  await made(identity.post(`${path}:enable`));
  for (const [at, { token, invitation }] of links.entries()) {
    await assertRefused(token);
    const own = at === 0 ? tenantId : otherId;
    const listed = await made(identity.get(`/tenants/${own}/invitations/${invitation.id}`));
    assert.deepEqual([listed.status, listed.revokeReason], ['revoked', 'left us']);
    const event = (await journalOf(identity, own)).find(
      ({ type, aggregate_id: id }) => type === 'invitation.revoked' && id === invitation.id,
    );
    assert.deepEqual(event.payload, {
      invitationId: invitation.id,
      principalId,
      kind: 'invitation',
      reason: 'left us',
    });
  }
  const again = await invite(identity, tenantId, { principalId });
  assert.equal((await acceptByPasskey(identity, again.token)).status, 200);
});
