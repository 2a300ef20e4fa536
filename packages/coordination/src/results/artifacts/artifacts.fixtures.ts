import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { done } from '../../testing/leases.ts';

/** A record without bytes. */
export const artifact = defineObject({
  path: '/artifacts/{id}',
  make: ({ actor }) => done(actor.post('/artifacts', { type: 'report', name: 'Findings' }), 201),
});

export default defineFixtures({ objects: [artifact] });
