import { defineFixtures } from '../../testing/app/fixtures.ts';

/** By default, the period ends now, so two responses would differ. */
const query = '?from=2026-01-05T00:00:00.000Z&to=2026-01-06T00:00:00.000Z';

export default defineFixtures({ objects: [], operations: { getHoldings: async () => ({ query }) } });
