import { randomUUID } from 'node:crypto';
import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { upstreamAudience } from './testing/upstream.ts';

/** An ID token of a user of the provider that the example bodies refer to. */
const upstreamToken = defineObject({
  async make({ identity, upstream, get }) {
    const provider = { key: 'corporate', issuer: upstream.issuer, audience: upstreamAudience };
    await made(identity.post(`/tenants/${(await get(tenant)).id}/identity-providers`, provider));
    return { token: await upstream.sign({ sub: randomUUID() }) };
  },
});

export default defineFixtures({
  operations: {
    authenticateFederatedUser: async ({ get }) => ({ body: await get(upstreamToken) }),
    startFederatedSession: async ({ get }) => ({ body: await get(upstreamToken) }),
    async exchangeFederatedToken({ get }) {
      await get(controlPlane);
      return { body: await get(upstreamToken) };
    },
  },
});
