import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeTenant } from '../../testing/objects.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import { ask, invite, passkeyIds, signInWith } from '../passkeys/testing/people.ts';

const rounds = byDepth(5, 100);
const callsAtOnce = 12;

let processes: [TestIdentity, TestIdentity];
before(async () => {
  const first = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  processes = [first, await first.another()];
});
after(() => processes[0].close());

/** The acceptance of one link by several browsers at once, each with its own passkey. */
async function acceptances(token: string) {
  const [identity] = processes;
  const options = await Promise.all(
    Array.from({ length: callsAtOnce }, () =>
      made(ask(identity, '/invitations:registration-options', { token })),
    ),
  );
  return options.map(({ publicKey, state }, at) => {
    const authenticator = new VirtualAuthenticator();
    const passkey = { state, credential: authenticator.create(publicKey), name: 'x' };
    const accept = () => ask(processes[at % 2] as TestIdentity, '/invitations:accept', { token, passkey });
    return { authenticator, accept };
  });
}

test('of parallel acceptances of one link exactly one wins, at two processes', async () => {
  const [identity] = processes;
  const tenantId = await makeTenant(identity);
  for (let round = 0; round < rounds; round += 1) {
    const { token, invitation } = await invite(identity, tenantId);
    const rivals = await acceptances(token);
    const answers = await Promise.all(rivals.map(({ accept }) => accept()));
    const outcomes = answers.map(({ status, body }) => (status === 200 ? 'accepted' : body.detail)).sort();
    assert.deepEqual(outcomes, ['accepted', ...Array(callsAtOnce - 1).fill('invalid_invitation')]);
    const person = { tenantId, principalId: invitation.principalId } as Parameters<typeof passkeyIds>[1];
    assert.equal((await passkeyIds(identity, person)).length, 1);
    const winner = rivals[answers.findIndex(({ status }) => status === 200)];
    assert.equal((await signInWith(identity, winner?.authenticator as VirtualAuthenticator)).status, 200);
  }
  const accepted = await identity.pool.row<{ n: number }>(sql`
    select count(*)::int as n from events where tenant_id = ${tenantId} and type = 'invitation.accepted'`);
  assert.equal(accepted?.n, rounds);
});

for (const act of ['revoke', 'disable'] as const)
  test(`an acceptance beside a ${act} happens whole or not at all, and not after it`, async () => {
    const [identity] = processes;
    const tenantId = await makeTenant(identity);
    for (let round = 0; round < rounds; round += 1) {
      const { token, invitation } = await invite(identity, tenantId);
      const { id, principalId } = invitation;
      const [first, second] = await acceptances(token);
      const path =
        act === 'revoke'
          ? `/tenants/${tenantId}/invitations/${id}:revoke`
          : `/tenants/${tenantId}/principals/${principalId}:disable`;
      const [answer, acted] = await Promise.all([first?.accept(), identity.post(path)]);
      const isAccepted = answer?.status === 200;
      if (act === 'revoke') assert.equal(acted.status, isAccepted ? 409 : 204);
      else assert.equal(acted.status, 200);
      assert.equal((await second?.accept())?.body.detail, 'invalid_invitation');
      const row = await identity.pool.row<{ passkeys: number; live: number; status: string }>(sql`
        select p.status, (select count(*) from passkeys where principal_id = p.id) as passkeys,
          (select count(*) from browser_sessions where principal_id = p.id and ended_at is null) as live
        from principals p where id = ${principalId}`);
      const ended = act === 'disable';
      const expected = isAccepted
        ? { status: ended ? 'disabled' : 'active', passkeys: 1, live: ended ? 0 : 1 }
        : { status: ended ? 'disabled' : 'paused', passkeys: 0, live: 0 };
      assert.deepEqual(row, expected);
    }
  });
