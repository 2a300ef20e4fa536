import { defineFixtures } from '../../testing/app/fixtures.ts';

export default defineFixtures({
  operations: {
    bootstrap: { excluded: 'It succeeds only once per installation: see bootstrap.test.ts.' },
  },
});
