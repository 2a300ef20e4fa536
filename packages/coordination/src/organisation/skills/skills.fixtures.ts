import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const skill = defineObject({
  path: '/skills/{ref}',
  make: ({ actor }) =>
    done(actor.post('/skills', { name: `s ${crypto.randomUUID()}`, protocol: 'mcp' }), 201),
});

export default defineFixtures({ objects: [skill] });
