import { viewerOf } from '../../service/sight/sight.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { sumUsageOfTask } from './task-usage.sql.ts';
import { type Usage, usageOf } from './usage.ts';

/**
 * Sums the usage of all attempts at a task (docs/reference/actions-and-usage.md#usage) and, with `descendants`, of its
 * subtasks and spawned tasks at any depth.
 * @throws Refusal `not_found`
 */
export async function getTaskUsage(context: Context, ref: TaskRef, descendants: boolean): Promise<Usage> {
  const viewerId = await viewerOf(context);
  const row = await context.db.row(
    sumUsageOfTask({ tenantId: context.tenantId, ref, descendants, viewerId }),
  );
  return row === undefined ? fail('not_found') : usageOf(row);
}
