import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const principal = defineObject({
  path: '/principals/{id}',
  make: ({ actor }) => done(actor.post('/principals', { kind: 'agent', displayName: 'A' }), 201),
});

/** Everybody in the list of people is a principal. */
const person = defineObject({
  path: '/people/{id}',
  make: ({ get }) => get(principal),
});

export default defineFixtures({
  objects: [principal, person],
  operations: {
    async enablePrincipal({ actor, get }) {
      await done(actor.post(`/principals/${(await get(principal)).id}:disable`, { reason: 'x' }));
      return {};
    },
  },
});
