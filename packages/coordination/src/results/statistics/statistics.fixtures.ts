import { defineFixtures } from '../../testing/app/fixtures.ts';

export default defineFixtures({
  operations: {
    getHoldings: () => ({ query: '?from=2026-11-02&to=2026-11-03' }),
  },
});
