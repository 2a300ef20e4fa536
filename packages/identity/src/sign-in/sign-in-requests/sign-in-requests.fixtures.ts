import { randomUUID } from 'node:crypto';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { upstreamAudience } from '../federation/testing/upstream.ts';

export const signInRequest = defineObject({
  path: '/tenants/{tenantId}/sign-in-requests/{signInRequestId}',
  async make({ identity, upstream, get }) {
    const path = `/tenants/${(await get(tenant)).id}`;
    const key = 'asking';
    const provider = { key, issuer: upstream.issuer, audience: upstreamAudience, unknownPeople: 'request' };
    await made(identity.post(`${path}/identity-providers`, provider));
    const token = await upstream.sign({ sub: randomUUID() });
    await identity.request('POST', `/api/v1${path}/federation:authenticate`, {
      body: { identityProvider: key, token },
    });
    const { items } = await made(identity.get(`${path}/sign-in-requests`));
    return { id: items[0].id };
  },
});

export default defineFixtures({ objects: [signInRequest] });
