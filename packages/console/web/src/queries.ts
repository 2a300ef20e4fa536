import { QueryClient, queryOptions } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton, isSignedOut } from './client.ts';

/** What was read is fresh until the journal tells of a change (see live.ts), at most for a minute. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      gcTime: 300_000,
      // The client tries again by itself where that helps.
      retry: false,
      refetchOnWindowFocus: (query) => !isSignedOut(query.state.error),
    },
    mutations: { retry: false },
  },
});

const lookMs = 30_000;
const lookAgainMs = 5_000;

/** Who is signed in, with their rights and what they hold. Read now and then also when nothing happens. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => baton.harness.getContext({}, { signal }),
  // So it is noticed when Baton does not answer, or this person is signed out elsewhere.
  refetchInterval: ({ state: { error } }) => {
    if (error === null) return lookMs;
    return isSignedOut(error) ? false : lookAgainMs;
  },
});

export const taskQuery = (ref: string) =>
  queryOptions({
    queryKey: ['tasks', 'one', ref],
    queryFn: ({ signal }) => baton.tasks.get(ref, { signal }),
  });

/** Names of people and agents change seldom. */
export const principalQuery = (id: string) =>
  queryOptions({
    queryKey: ['principals', id],
    queryFn: ({ signal }) => baton.principals.get(id, { signal }),
    staleTime: 600_000,
  });

/** Names of workspaces change seldom, too. */
export const workspaceQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', 'one', id],
    queryFn: ({ signal }) => baton.workspaces.get(id, { signal }),
    staleTime: 600_000,
  });

/** What must still hold when a task is changed. Made of its version: what is shown before Baton has answered has no ETag. */
export const versionOf = ({ version }: Pick<Task, 'version'>) => `"task-${version}"`;
