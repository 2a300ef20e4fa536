import { queryOptions } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';

export const runsMax = 10;

/** The newest attempts at a task. */
export const runsQuery = ({ id }: Pick<Task, 'id'>) =>
  queryOptions({
    queryKey: ['tasks', 'runs', id],
    queryFn: ({ signal }) =>
      baton.runs.list({ taskId: id, limit: runsMax }, { signal }).then(({ items }) => items),
  });
