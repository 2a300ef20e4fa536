import { defineFixtures } from '../../testing/fixtures.ts';
import { session } from '../sessions/sessions.fixtures.ts';

export default defineFixtures({
  operations: {
    getHarnessContext: async ({ get }) => ({ query: `?sessionId=${(await get(session)).id}` }),
  },
});
