import { serviceAccount } from '../../directory/service-accounts/service-accounts.fixtures.ts';
import { defineFixtures } from '../../testing/fixtures.ts';
import { presentedToken } from '../exchange/exchanges.fixtures.ts';

export default defineFixtures({
  operations: {
    async grantOauthToken({ get }) {
      const { clientId, clientSecret } = await get(serviceAccount);
      return { body: { client_id: clientId, client_secret: clientSecret } };
    },
    async introspectOauthToken({ get }) {
      const { clientId, clientSecret } = await get(serviceAccount);
      return { body: { client_id: clientId, client_secret: clientSecret, ...(await get(presentedToken)) } };
    },
    revokeOauthToken: async ({ get }) => ({ body: await get(presentedToken) }),
  },
});
