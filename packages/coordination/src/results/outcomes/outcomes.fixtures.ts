import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { approval } from '../approvals/approvals.fixtures.ts';

/** The failed outcome of the caller's own decision. */
const failedOutcome = defineObject({
  async make({ baton, actor, get }) {
    const { id, tenantId } = (await get(approval)) as { id: string; tenantId: string };
    await done(actor.post(`/approvals/${id}:approve`));
    const snapshot = JSON.stringify({ principalId: actor.principalId, permissions: [] });
    await baton.pool.run(sql`
      insert into approval_outcomes (approval_id, tenant_id, outcome, credential, decision_event_id, declared, next_attempt_at)
      values (${id}, ${tenantId}, 'approved', ${snapshot}, ${newId()}, '[{"completeTask": {}}]', null)`);
    await baton.pool.run(sql`update approvals set outcome_status = 'failed' where id = ${id}`);
    return { id };
  },
});

export default defineFixtures({
  operations: {
    replayApprovalOutcome: async ({ get }) => ({ params: { id: (await get(failedOutcome)).id } }),
  },
});
