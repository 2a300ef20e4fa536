import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { claimTask, endClaimLease } from '../../testing/leases.ts';
import { task } from '../../work/tasks/tasks.fixtures.ts';
import { session } from '../sessions/sessions.fixtures.ts';

/** A live claim on the requested task. */
export const claim = defineObject({
  path: '/claims/{id}',
  make: async ({ actor, get }) =>
    claimTask({ actor, sessionId: (await get(session)).id }, (await get(task)).id),
});

export default defineFixtures({
  objects: [claim],
  operations: {
    claimTask: async ({ get }) => ({ body: { sessionId: (await get(session)).id } }),
    async claimNextTasks({ get }) {
      await get(task);
      return { body: { sessionId: (await get(session)).id } };
    },
    async reclaimTask({ baton, get }) {
      await get(claim);
      await endClaimLease(baton, (await get(task)).id);
      return { body: { sessionId: (await get(session)).id } };
    },
  },
});
