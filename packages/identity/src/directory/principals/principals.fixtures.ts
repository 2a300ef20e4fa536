import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makePrincipal } from '../../testing/objects.ts';
import { tenant } from '../tenants/tenants.fixtures.ts';

/** An agent. */
export const principal = defineObject({
  path: '/tenants/{tenantId}/principals/{principalId}',
  make: async ({ identity, get }) => ({ id: await makePrincipal(identity, (await get(tenant)).id) }),
});

export default defineFixtures({ objects: [principal] });
