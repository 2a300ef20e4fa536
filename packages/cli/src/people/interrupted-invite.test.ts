import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient, fetchTransport, type identity } from '@baton/sdk';
import { invitePerson } from '@baton/sdk/people';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';

let baton: RunningBaton;
before(async () => {
  baton = await sharedBaton();
});
after(() => baton?.stop());

type Step = 'before' | 'after';
type WireRequest = Parameters<typeof fetchTransport>[0];

/** A client that stops at a write: before it is sent, or before its response arrives. */
function interruptedAt(place: number, when: Step) {
  let writes = 0;
  let isStopped = false;
  const { tenantId, iamBootstrapToken: adminSecret, issuer } = baton.connection;
  const common = {
    url: baton.url,
    attempts: 1,
    transport: async (request: WireRequest) => {
      if (isStopped) throw new Error('the process was killed');
      const isWrite = request.method !== 'GET';
      if (isWrite) writes += 1;
      isStopped = isWrite && writes === place;
      if (isStopped && when === 'before') throw new Error('the process was killed');
      const response = await fetchTransport(request);
      if (isStopped) throw new Error('the process was killed');
      return response;
    },
  };
  const admin = createClient({ ...common, credential: { token: baton.connection.adminToken } });
  const { identity } = createClient({ ...common, adminSecret });
  const administration = { identity, tenantId, issuer };
  return {
    invite: (name: string) =>
      invitePerson(
        admin,
        administration,
        {
          displayName: name,
          email: `${name.replaceAll(' ', '-').toLowerCase()}@example.com`,
          accessRole: 'viewer',
        },
        (step) => `${name}-${step}`,
      ),
    isReached: () => isStopped,
  };
}

test('an invitation that is interrupted at any step gives nobody a link without access, and is completed by the next one', async () => {
  const { tenantId, iamBootstrapToken: adminSecret } = baton.connection;
  const { identity: api } = createClient({ url: baton.url, adminSecret });
  const stops: string[] = [];
  for (let place = 1; place <= 10; place += 1)
    for (const when of ['before', 'after'] as const) {
      const name = `Interrupted ${when} ${place}`;
      const broken = interruptedAt(place, when);
      const invited = await broken.invite(name).then(
        ({ token }) => token,
        () => undefined,
      );
      if (!broken.isReached()) continue;
      stops.push(`${when} ${place}`);
      assert.equal(invited, undefined, name);
      const whole = await interruptedAt(0, 'before')
        .invite(name)
        .catch((error: unknown) => error as Error);
      const open = (await api.invitations.list(tenantId, { status: 'open', limit: 500 })).items.filter(
        (one: identity.Invitation) => one.displayName === name,
      );
      assert.equal(open.length, 1, name);
      const { items } = await baton.admin.people.list({ q: name });
      const people = items.filter(({ displayName }) => displayName === name);
      assert.deepEqual(
        people.map(({ status, accessRole, email, identities }) => [
          status,
          accessRole,
          email,
          identities[0]?.iamPrincipalId,
        ]),
        [
          [
            'active',
            'viewer',
            `${name.replaceAll(' ', '-').toLowerCase()}@example.com`,
            open[0]?.principalId,
          ],
        ],
        name,
      );
      if ('token' in whole)
        assert.equal((await api.invitations.read({ token: whole.token })).displayName, name);
      // The invitation was complete before the interruption: only the link was lost.
      else assert.match(whole.message, /is invited already, until .*Renew/);
    }
  assert.ok(stops.length >= 6, stops.join());
});
