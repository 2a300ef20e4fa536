import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makeServiceAccount } from '../../testing/objects.ts';
import { controlPlane } from '../audiences/audiences.fixtures.ts';
import { tenant } from '../tenants/tenants.fixtures.ts';

export const serviceAccount = defineObject({
  path: '/tenants/{tenantId}/service-accounts/{clientId}',
  async make({ identity, get }) {
    await get(controlPlane);
    return makeServiceAccount(identity, (await get(tenant)).id);
  },
});

export default defineFixtures({
  objects: [serviceAccount],
  operations: {
    async createServiceAccount({ get }) {
      await get(controlPlane);
      return {};
    },
  },
});
