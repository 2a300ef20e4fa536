import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const goal = defineObject({
  path: '/goals/{id}',
  make: ({ actor }) => done(actor.post('/goals', { title: 'wanted' }), 201),
});

export default defineFixtures({ objects: [goal] });
