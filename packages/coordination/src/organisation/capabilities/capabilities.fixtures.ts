import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const capability = defineObject({
  path: '/capabilities/{id}',
  make: ({ actor }) => done(actor.post('/capabilities', { name: `c ${crypto.randomUUID()}` }), 201),
});

export default defineFixtures({ objects: [capability] });
