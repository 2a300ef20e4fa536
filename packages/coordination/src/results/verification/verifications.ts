import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import { attemptOf, type TaskVerification } from '../../work/verifications/attempt.ts';
import type { Context } from '../context.ts';
import { findAttempts } from './verifications.sql.ts';

/**
 * The attempts to verify a task, newest first. See docs/reference/completion.md#verification-attempts.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listTaskVerifications(
  context: Context,
  ref: TaskRef,
  page: Page,
): Promise<ItemPage<TaskVerification>> {
  const { id } = await getTask(context, ref);
  return listPage(context.db, findAttempts(context.tenantId, id, page), attemptOf);
}
