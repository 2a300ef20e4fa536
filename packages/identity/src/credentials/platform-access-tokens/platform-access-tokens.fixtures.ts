import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { principal } from '../../directory/principals/principals.fixtures.ts';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makeToken } from '../../testing/objects.ts';

export const platformAccessToken = defineObject({
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}',
  async make({ identity, get }) {
    await get(controlPlane);
    const { token, credential } = await makeToken(
      identity,
      (await get(tenant)).id,
      (await get(principal)).id,
    );
    return { token, credentialId: credential.id };
  },
});

export default defineFixtures({
  objects: [platformAccessToken],
  operations: {
    async createPlatformAccessToken({ get }) {
      await get(controlPlane);
      return {};
    },
  },
});
