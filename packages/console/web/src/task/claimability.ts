import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery } from '../queries.ts';
import { serverNow } from '../server-clock.ts';

type Known = Pick<Task, 'id' | 'version' | 'systemStatusCategory' | 'availableAt'>;

/** Whether a task can be taken, and everything that stands in the way; not asked of one that is over. */
export const claimabilityQuery = ({ id, version, systemStatusCategory, availableAt }: Known) =>
  queryOptions({
    queryKey: ['tasks', 'claimability', id, version],
    queryFn: ({ signal }) => baton.tasks.getClaimability(id, { signal }),
    enabled: id !== '' && !systemStatusCategory.startsWith('terminal'),
    // The end of a pause and a start date write no event.
    refetchInterval: ({ state: { data } }) =>
      data?.reasons.some(({ code }) => code === 'not_before') ? lookAgainMs(availableAt) : false,
  });

const lookMsMin = 1_000;
const lookMsMax = 60_000;

function lookAgainMs(availableAt: string | null): number {
  const leftMs = availableAt === null ? 0 : Date.parse(availableAt) - serverNow();
  return Math.min(Math.max(leftMs, lookMsMin), lookMsMax);
}

const unknown: Known = { id: '', version: 0, systemStatusCategory: 'active', availableAt: null };
const permissions = ['tasks.claim', 'sessions.open'];

/** Whether this person can take the task now. */
export function useCanTake(task: Task | undefined): boolean {
  const me = useQuery(meQuery).data;
  const { data } = useQuery(claimabilityQuery(task ?? unknown));
  return data?.claimable === true && permissions.every((permission) => me?.permissions.includes(permission));
}
