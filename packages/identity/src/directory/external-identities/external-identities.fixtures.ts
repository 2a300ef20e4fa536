import { randomUUID } from 'node:crypto';
import { defineFixtures } from '../../testing/fixtures.ts';

export default defineFixtures({
  operations: {
    linkExternalIdentity: () => ({ body: { subject: randomUUID() } }),
  },
});
