import { infiniteQueryOptions } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import type { WorkSearch } from './work-search.ts';

const pageSize = 100;

/**
 * The tasks of a search, page by page.
 * @param hidden workspaces whose tasks are excluded
 * @param status of a board column; takes precedence over the search's category
 */
export const tasksQuery = (
  { q, priority, assignee, category, workspace }: WorkSearch,
  me: string | undefined,
  hidden: ReadonlySet<string>,
  status?: string,
) => {
  const filter = {
    ...(q && { q }),
    ...(priority && { priority }),
    ...(workspace && { workspaceId: workspace }),
    ...(assignee && me && { assigneeId: me }),
    ...(status ? { status } : category && { systemStatusCategory: category }),
  };
  return infiniteQueryOptions({
    queryKey: ['tasks', 'list', filter],
    queryFn: ({ pageParam, signal }) =>
      baton.tasks.list({ ...filter, limit: pageSize, ...(pageParam && { cursor: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }): Task[] =>
      pages.flatMap(({ items }) => items.filter(({ workspaceId }) => !hidden.has(workspaceId ?? ''))),
  });
};
