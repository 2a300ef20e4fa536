import { queryBuilder } from '@baton/kernel/db';
import { type ListOrder, pageQuery } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { AttemptRow } from '../../work/verifications/attempt.ts';

const build = queryBuilder<{ verifications: AttemptRow }>();

/** The number of an attempt rises with its time, and the index of the task's attempts has it. */
const newestFirst: ListOrder<AttemptRow> = {
  cursor: 'verifications',
  columns: { attempt: 'integer' },
  direction: 'desc',
};

export function findAttempts(tenantId: string, taskId: string, page: Page) {
  const query = build
    .selectFrom('verifications')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('task_id', '=', taskId);
  return pageQuery(query, newestFirst, page);
}
