import { randomUUID } from 'node:crypto';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makeTenant } from '../../testing/objects.ts';

/** The tenant of the request. The administrator may use any. */
export const tenant = defineObject({
  path: '/tenants/{tenantId}',
  shared: true,
  make: async ({ identity }) => ({ id: await makeTenant(identity) }),
});

export default defineFixtures({
  objects: [tenant],
  operations: {
    createTenant: () => ({ body: { slug: `t-${randomUUID()}` } }),
  },
});
