import { defineFixtures } from '../../testing/fixtures.ts';

export default defineFixtures({
  operations: {
    bootstrap: { excluded: 'It succeeds once in the life of an installation: bootstrap.test.ts has that.' },
  },
});
