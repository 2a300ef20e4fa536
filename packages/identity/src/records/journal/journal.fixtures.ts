import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures } from '../../testing/fixtures.ts';

export default defineFixtures({
  operations: {
    listEvents: async ({ get }) => ({ query: `?tenantId=${(await get(tenant)).id}` }),
  },
});
