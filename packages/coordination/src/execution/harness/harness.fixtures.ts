import { defineFixtures } from '../../testing/app/fixtures.ts';
import { claim } from '../claims/claims.fixtures.ts';
import { session } from '../sessions/sessions.fixtures.ts';

export default defineFixtures({
  operations: {
    async compileHarnessManifest({ get }) {
      const { id: claimId, fencingToken } = await get(claim);
      return { body: { claimId, fencingToken } };
    },
    getHarnessContext: async ({ get }) => ({ query: `?sessionId=${(await get(session)).id}` }),
  },
});
