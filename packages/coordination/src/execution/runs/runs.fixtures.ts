import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { task } from '../../work/tasks/tasks.fixtures.ts';
import { claim } from '../claims/claims.fixtures.ts';

export const run = defineObject({
  path: '/runs/{id}',
  async make({ actor, get }) {
    const { id: claimId, fencingToken } = await get(claim);
    const { id: taskId } = await get(task);
    return done(actor.post(`/tasks/${taskId}:start-run`, { claimId, fencingToken }), 201);
  },
});

export default defineFixtures({
  objects: [run],
  operations: {
    async startRun({ get }) {
      const { id: claimId, fencingToken } = await get(claim);
      return { body: { claimId, fencingToken } };
    },
  },
});
