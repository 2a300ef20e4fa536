import { randomUUID } from 'node:crypto';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { upstreamAudience } from '../federation/testing/upstream.ts';
import { invite, makeHuman } from '../passkeys/testing/people.ts';

export const invitation = defineObject({
  path: '/tenants/{tenantId}/invitations/{invitationId}',
  async make({ identity, get }) {
    const { token, invitation } = await invite(identity, (await get(tenant)).id);
    return { token, id: invitation.id };
  },
});

export default defineFixtures({
  objects: [invitation],
  operations: {
    createRecoveryLink: async ({ identity, get }) => ({
      params: { principalId: await makeHuman(identity, (await get(tenant)).id) },
    }),
    readInvitation: async ({ get }) => ({ body: { token: (await get(invitation)).token } }),
    getInvitationPasskeyOptions: async ({ get }) => ({ body: { token: (await get(invitation)).token } }),
    async acceptInvitation({ identity, upstream, get }) {
      const provider = { key: 'corporate', issuer: upstream.issuer, audience: upstreamAudience };
      await made(identity.post(`/tenants/${(await get(tenant)).id}/identity-providers`, provider));
      const federation = { identityProvider: 'corporate', token: await upstream.sign({ sub: randomUUID() }) };
      return { body: { token: (await get(invitation)).token, federation } };
    },
  },
});
