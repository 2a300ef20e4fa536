import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import type { TaskRow } from '../../work/tasks/task.ts';
import type { AttemptCheck, CheckResult } from '../../work/verifications/attempt.ts';
import type { JudgedAttemptRow } from './verifications.sql.ts';

/** An attempt while it is judged. */
export interface Judgement {
  attempt: JudgedAttemptRow;
  /** Locked. */
  task: TaskRow;
  rules: TypeRules;
  /** Those of the attempt, and those that were added to the task since. */
  checks: AttemptCheck[];
  /** Of the first of the checks. */
  results: CheckResult[];
}
