import { randomUUID } from 'node:crypto';
import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { principal } from '../../directory/principals/principals.fixtures.ts';
import { defineFixtures } from '../../testing/fixtures.ts';

export default defineFixtures({
  operations: {
    async importLegacyCredential({ get }) {
      await get(controlPlane);
      const keyPrefix = randomUUID().replaceAll('-', '').slice(0, 12);
      return { body: { principalId: (await get(principal)).id, keyPrefix } };
    },
  },
});
