import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { openSession } from '../../testing/leases.ts';

export const session = defineObject({
  path: '/sessions/{id}',
  make: async ({ actor }) => ({ id: await openSession(actor) }),
});

export default defineFixtures({ objects: [session] });
