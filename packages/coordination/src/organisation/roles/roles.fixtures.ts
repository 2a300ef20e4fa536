import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

/** A role of the tenant. */
export const role = defineObject({
  path: '/roles/{id}',
  make: ({ actor }) =>
    done(actor.post('/roles', { slug: `role-${crypto.randomUUID().slice(0, 8)}`, name: 'R' }), 201),
});

export default defineFixtures({ objects: [role] });
