import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';

/** A version of a process never changes. */
export const definitionQuery = (key: string, version: number) =>
  queryOptions({
    queryKey: ['processes', 'definition', key, version],
    queryFn: ({ signal }) => baton.processDefinitions.get(`${key}@${version}`, { signal }),
    staleTime: 600_000,
  });
