import { serviceAccount } from '../../directory/service-accounts/service-accounts.fixtures.ts';
import { defineFixtures } from '../../testing/fixtures.ts';

export default defineFixtures({
  operations: {
    async exchangeClientCredentials({ get }) {
      const { clientId, clientSecret } = await get(serviceAccount);
      return { body: { clientId, clientSecret } };
    },
  },
});
