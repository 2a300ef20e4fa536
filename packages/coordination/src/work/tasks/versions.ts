import { requireVersionOf } from '../../service/changes.ts';
import type { TaskRow } from './task.ts';

/** @throws Refusal `version_conflict` when the task has another version than If-Match names (core, section 1.8) */
export function requireVersion(task: TaskRow, ifMatch: number): void {
  requireVersionOf('task', task, ifMatch);
}
