import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';

/** The newest so many; who holds an older one stands on its page. */
const claimsMax = 200;

/** Who holds tasks now: principals by tasks. */
export const holdersQuery = queryOptions({
  queryKey: ['tasks', 'holders'],
  queryFn: ({ signal }) =>
    baton.claims
      .list({ status: 'active', limit: claimsMax }, { signal })
      .then(({ items }) => new Map(items.map(({ taskId, holderId }) => [taskId, holderId]))),
  structuralSharing: false,
});
