import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery } from '../queries.ts';

type Known = Pick<Task, 'id' | 'version' | 'systemStatusCategory'>;

/** Whether a task can be taken, and everything that stands in the way; not asked of one that is over. */
export const claimabilityQuery = ({ id, version, systemStatusCategory }: Known) =>
  queryOptions({
    queryKey: ['tasks', 'claimability', id, version],
    queryFn: ({ signal }) => baton.tasks.getClaimability(id, { signal }),
    enabled: id !== '' && !systemStatusCategory.startsWith('terminal'),
  });

const unknown: Known = { id: '', version: 0, systemStatusCategory: 'active' };
const permissions = ['tasks.claim', 'sessions.open'];

/** Whether this person can take the task now. */
export function useCanTake(task: Task | undefined): boolean {
  const me = useQuery(meQuery).data;
  const { data } = useQuery(claimabilityQuery(task ?? unknown));
  return data?.claimable === true && permissions.every((permission) => me?.permissions.includes(permission));
}
