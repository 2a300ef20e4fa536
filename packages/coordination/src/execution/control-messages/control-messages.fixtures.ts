import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { claim } from '../claims/claims.fixtures.ts';
import { run } from '../runs/runs.fixtures.ts';

const message = defineObject({
  path: '/runs/{id}/control-messages/{messageId}',
  async make({ actor, get }) {
    const { id: runId } = await get(run);
    const body = { operation: 'queue', causalPosition: 'start', directive: 'Look', expectedRunVersion: 1 };
    const key = { 'idempotency-key': `message to ${runId}` };
    return (await done(actor.post(`/runs/${runId}/control-messages`, body, key), 201)).controlMessage;
  },
});

export default defineFixtures({
  objects: [message],
  operations: {
    async acknowledgeControlMessage({ get }) {
      const { id: claimId, fencingToken } = await get(claim);
      return { body: { claimId, fencingToken } };
    },
  },
});
