import { QueryClient, queryOptions } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton, isSignedOut } from './client.ts';

/** Cached data is fresh until the journal reports a change (see live.ts), for at most a minute. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      gcTime: 300_000,
      // The client already retries where a retry can help.
      retry: false,
      refetchOnWindowFocus: (query) => !isSignedOut(query.state.error),
    },
    mutations: { retry: false },
  },
});

const pollMs = 30_000;
const retryMs = 5_000;

/** The signed-in person, their permissions and claims. Polled, even without events. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => baton.harness.getContext({}, { signal }),
  // Detects that Baton is unreachable, or that this person was signed out elsewhere.
  refetchInterval: ({ state: { error } }) => {
    if (error === null) return pollMs;
    return isSignedOut(error) ? false : retryMs;
  },
});

export const taskQuery = (ref: string) =>
  queryOptions({
    queryKey: ['tasks', 'one', ref],
    queryFn: ({ signal }) => baton.tasks.get(ref, { signal }),
  });

/** Names of people and agents rarely change. */
export const principalQuery = (id: string) =>
  queryOptions({
    queryKey: ['principals', id],
    queryFn: ({ signal }) => baton.principals.get(id, { signal }),
    staleTime: 600_000,
  });

/** Names of workspaces rarely change. */
export const workspaceQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', 'one', id],
    queryFn: ({ signal }) => baton.workspaces.get(id, { signal }),
    staleTime: 600_000,
  });

/** The `If-Match` value of a task. Derived from its version, because optimistic data has no ETag. */
export const versionOf = ({ version }: Pick<Task, 'version'>) => `"task-${version}"`;
