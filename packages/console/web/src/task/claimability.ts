import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery } from '../queries.ts';
import { serverNow } from '../server-clock.ts';

type Known = Pick<Task, 'id' | 'version' | 'systemStatusCategory' | 'availableAt'>;

/** Whether a task can be claimed, and the reasons if not. Not queried for ended tasks. */
export const claimabilityQuery = ({ id, version, systemStatusCategory, availableAt }: Known) =>
  queryOptions({
    queryKey: ['tasks', 'claimability', id, version],
    queryFn: ({ signal }) => baton.tasks.getClaimability(id, { signal }),
    enabled: id !== '' && !systemStatusCategory.startsWith('terminal'),
    // No event is written when a retry delay ends or a start date is reached, so the page polls.
    refetchInterval: ({ state: { data } }) =>
      data?.reasons.some(({ code }) => code === 'not_before') ? pollMs(availableAt) : false,
  });

const pollMsMin = 1_000;
const pollMsMax = 60_000;

function pollMs(availableAt: string | null): number {
  const leftMs = availableAt === null ? 0 : Date.parse(availableAt) - serverNow();
  return Math.min(Math.max(leftMs, pollMsMin), pollMsMax);
}

const unknown: Known = { id: '', version: 0, systemStatusCategory: 'active', availableAt: null };
const permissions = ['tasks.claim', 'sessions.open'];

/** Whether this person can claim the task now. */
export function useCanClaim(task: Task | undefined): boolean {
  const me = useQuery(meQuery).data;
  const { data } = useQuery(claimabilityQuery(task ?? unknown));
  return data?.claimable === true && permissions.every((permission) => me?.permissions.includes(permission));
}
