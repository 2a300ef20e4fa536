import { setTimeout as sleep } from 'node:timers/promises';
import type { BatonClient } from '@baton/sdk';
import type { Tally } from './tally.ts';

const lookEveryMs = 200;

/** The person of the demo: approves the pending approvals while agents work, until the demo ends. */
export async function reviewApprovals(
  baton: BatonClient,
  reviewerId: string,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const { items } = await baton.approvals.list({ status: 'pending', limit: 200 });
    for (const { id } of items.filter(({ assignedPrincipalId: to }) => to === reviewerId)) {
      await baton.approvals.approve(id, { comment: 'go on' });
      tally.approved += 1;
    }
    await sleep(lookEveryMs);
  }
}
