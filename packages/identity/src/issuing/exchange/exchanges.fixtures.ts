import { platformAccessToken } from '../../credentials/platform-access-tokens/platform-access-tokens.fixtures.ts';
import { serviceAccount } from '../../directory/service-accounts/service-accounts.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';

/** A body with the secret of a token that only this fixture uses. */
export const presentedToken = defineObject({
  make: async ({ get }) => ({ token: (await get(platformAccessToken)).token }),
});

export default defineFixtures({
  operations: {
    exchangePlatformAccessToken: async ({ get }) => ({ body: await get(presentedToken) }),
    async exchangeClientCredentials({ get }) {
      const { clientId, clientSecret } = await get(serviceAccount);
      return { body: { clientId, clientSecret } };
    },
  },
});
