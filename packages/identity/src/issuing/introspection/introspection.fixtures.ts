import { defineFixtures } from '../../testing/fixtures.ts';
import { presentedToken } from '../exchange/exchanges.fixtures.ts';

export default defineFixtures({
  operations: {
    introspectPlatformAccessToken: async ({ get }) => ({ body: await get(presentedToken) }),
    revokeOwnPlatformAccessToken: async ({ get }) => ({ body: await get(presentedToken) }),
  },
});
