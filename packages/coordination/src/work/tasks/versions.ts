import { fail } from '../errors.ts';
import type { TaskRow } from './task.ts';

/** @throws Refusal `version_conflict` when the task has another version than If-Match names (core, section 1.8) */
export function requireVersion({ id, version }: TaskRow, ifMatch: number): void {
  if (version === ifMatch) return;
  fail('version_conflict', {
    taskId: id,
    entity: 'task',
    id,
    expectedVersion: ifMatch,
    currentVersion: version,
  });
}
