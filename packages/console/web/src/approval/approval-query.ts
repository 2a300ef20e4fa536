import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';

/** @param taskVersion reads it again when its task has another version: what is decided may have changed with it */
export const approvalQuery = (id: string, taskVersion?: number) =>
  queryOptions({
    queryKey: ['approvals', 'one', id, taskVersion ?? null],
    queryFn: ({ signal }) => baton.approvals.get(id, { signal }),
    // Until the later one is read, the earlier one stays on the page.
    placeholderData: (before) => (before?.id === id ? before : undefined),
  });
