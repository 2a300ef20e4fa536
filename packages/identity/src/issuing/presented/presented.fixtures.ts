import { platformAccessToken } from '../../credentials/platform-access-tokens/platform-access-tokens.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';

/** A body with the secret of a token that nothing else uses. */
const presented = defineObject({
  make: async ({ get }) => ({ token: (await get(platformAccessToken)).token }),
});

export default defineFixtures({
  operations: {
    exchangePlatformAccessToken: async ({ get }) => ({ body: await get(presented) }),
    introspectPlatformAccessToken: async ({ get }) => ({ body: await get(presented) }),
    revokeOwnPlatformAccessToken: async ({ get }) => ({ body: await get(presented) }),
  },
});
