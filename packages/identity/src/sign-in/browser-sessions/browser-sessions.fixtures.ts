import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { person } from '../passkeys/passkeys.fixtures.ts';

export const browserSession = defineObject({
  path: '/tenants/{tenantId}/principals/{principalId}/browser-sessions/{browserSessionId}',
  make: async ({ get }) => ({ id: (await get(person)).session.id }),
});

export default defineFixtures({
  objects: [browserSession],
  operations: {
    async exchangeBrowserSession({ get }) {
      await get(controlPlane);
      return { body: { token: (await get(person)).token } };
    },
    endOwnBrowserSession: async ({ get }) => ({ body: { token: (await get(person)).token } }),
    revokeBrowserSession: async ({ get }) => ({ params: { principalId: (await get(person)).principalId } }),
  },
});
