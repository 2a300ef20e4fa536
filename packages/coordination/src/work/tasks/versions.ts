import { requireVersionOf } from '../../service/changes.ts';
import type { TaskRow } from './task.ts';

/**
 * @throws Refusal `version_conflict` if the task's version differs from If-Match
 * (docs/reference/README.md#optimistic-locking)
 */
export function requireVersion(task: TaskRow, ifMatch: number): void {
  requireVersionOf('task', task, ifMatch);
}
