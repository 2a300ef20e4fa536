import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';

/** The number of claims that are read, newest first. The page of a task shows its holder in any case. */
const claimsMax = 200;

/** The holders of claimed tasks, by task id. */
export const holdersQuery = queryOptions({
  queryKey: ['tasks', 'holders'],
  queryFn: ({ signal }) =>
    baton.claims
      .list({ status: 'active', limit: claimsMax }, { signal })
      .then(({ items }) => new Map(items.map(({ taskId, holderId }) => [taskId, holderId]))),
  structuralSharing: false,
});
