import { randomUUID } from 'node:crypto';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';

/** A provider whose key no other tenant has. */
export const identityProvider = defineObject({
  path: '/tenants/{tenantId}/identity-providers/{key}',
  async make({ identity, get }) {
    const name = randomUUID();
    const provider = { key: `p-${name}`, issuer: `https://${name}.example.com`, audience: 'baton' };
    return made(identity.post(`/tenants/${(await get(tenant)).id}/identity-providers`, provider));
  },
});

export default defineFixtures({
  objects: [identityProvider],
  operations: {
    createIdentityProvider: () => ({ body: { issuer: `https://${randomUUID()}.example.com` } }),
  },
});
