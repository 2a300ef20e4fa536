import { infiniteQueryOptions } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';

/** The comments on a task, oldest first. */
export const commentsQuery = ({ id }: Pick<Task, 'id'>) =>
  infiniteQueryOptions({
    queryKey: ['tasks', 'comments', id],
    queryFn: ({ pageParam, signal }) =>
      baton.tasks.listComments(id, { limit: 50, ...(pageParam && { cursor: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
