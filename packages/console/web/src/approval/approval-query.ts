import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';

/**
 * @param taskVersion refetches the approval when the task's version changes, because its subject may have changed too
 */
export const approvalQuery = (id: string, taskVersion?: number) =>
  queryOptions({
    queryKey: ['approvals', 'one', id, taskVersion ?? null],
    queryFn: ({ signal }) => baton.approvals.get(id, { signal }),
    // The previous version stays on the page while the new one loads.
    placeholderData: (before) => (before?.id === id ? before : undefined),
  });
