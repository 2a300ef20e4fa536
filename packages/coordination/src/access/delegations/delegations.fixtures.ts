import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { principal } from '../principals/principals.fixtures.ts';

const human = defineObject({
  make: ({ actor }) => done(actor.post('/principals', { kind: 'human', displayName: 'H' }), 201),
});

/** The human and the agent of a delegation. */
const parties = defineObject({
  make: async ({ get }) => ({
    humanPrincipalId: (await get(human)).id,
    agentPrincipalId: (await get(principal)).id,
  }),
});

const delegation = defineObject({
  path: '/delegations/{id}',
  make: async ({ actor, get }) =>
    done(actor.post('/delegations', { ...(await get(parties)), permissions: ['tasks.read'] }), 201),
});

export default defineFixtures({
  objects: [delegation],
  operations: {
    createDelegation: async ({ get }) => ({ body: await get(parties) }),
  },
});
