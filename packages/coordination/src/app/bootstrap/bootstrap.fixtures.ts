import { defineFixtures } from '../../testing/fixtures.ts';

export default defineFixtures({
  operations: {
    bootstrap: { excluded: 'It succeeds only once per installation: see bootstrap.test.ts.' },
  },
});
