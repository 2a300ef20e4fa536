import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const principal = defineObject({
  path: '/principals/{id}',
  make: ({ actor }) => done(actor.post('/principals', { kind: 'agent', displayName: 'A' }), 201),
});

export default defineFixtures({
  objects: [principal],
  operations: {
    async enablePrincipal({ actor, get }) {
      await done(actor.post(`/principals/${(await get(principal)).id}:disable`, { reason: 'x' }));
      return {};
    },
  },
});
