import { QueryClient, queryOptions } from '@tanstack/react-query';
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

/** Who is signed in, with their rights. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => baton.harness.getContext({}, { signal }),
});

export const taskQuery = (ref: string) =>
  queryOptions({
    queryKey: ['tasks', 'one', ref],
    queryFn: ({ signal }) => baton.tasks.get(ref, { signal }),
    // The ETag belongs to the very object that was answered (etagOf); a copy would have none.
    structuralSharing: false,
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
