import { setTimeout as sleep } from 'node:timers/promises';
import type { CoordinationClient } from '../coordination-client.ts';
import type { Page } from '../wire.ts';
import type { Tally } from './tally.ts';

const lookEveryMs = 200;

/** The person of the demo: approves what waits for an approval, as agents do the rest. @returns when `isOver` is true */
export async function reviewApprovals(
  client: CoordinationClient,
  reviewerId: string,
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const { items } = await client.call<Page<{ id: string; assignedPrincipalId: string | null }>>(
      'GET',
      '/approvals?status=pending&limit=200',
    );
    for (const { id } of items.filter(({ assignedPrincipalId: to }) => to === reviewerId)) {
      await client.call('POST', `/approvals/${id}:approve`, { comment: 'go on' });
      tally.approved += 1;
    }
    await sleep(lookEveryMs);
  }
}
