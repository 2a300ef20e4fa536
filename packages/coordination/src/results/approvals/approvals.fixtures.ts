import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

/** A pending request that the caller itself can decide. */
export const approval = defineObject({
  path: '/approvals/{id}',
  make: ({ actor }) =>
    done(actor.post('/approvals', { assignedPrincipalId: actor.principalId, comment: 'may I?' }), 201),
});

export default defineFixtures({
  objects: [approval],
  operations: {
    requestApproval: ({ actor }) => ({ body: { assignedPrincipalId: actor.principalId } }),
  },
});
