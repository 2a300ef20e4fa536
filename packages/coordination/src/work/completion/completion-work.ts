import { allHaveValues } from '../../definitions/declared-actions/task-values.ts';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import {
  type ActionResult,
  attemptAction,
  executeDeclaredAction,
  kindOf,
  summaryOf,
} from '../declared-actions/declared-actions.ts';
import { lookupOf } from '../tasks/lookup.ts';
import type { Task } from '../tasks/task.ts';
import { completionWorkExecuted, completionWorkFailed } from './completion.events.ts';

/**
 * Runs the actions that the type declares for a completed task (docs/reference/completion.md#completion-work), in the
 * transaction of the completion and on behalf of the caller that completes the task. A failed action rolls back neither
 * the completion nor the actions before it; those after it are skipped.
 */
export async function executeCompletionWork(context: Context, task: Task, rules: TypeRules): Promise<void> {
  const declared = rules.completionSchema.onComplete;
  if (declared === undefined || declared.actions.length === 0) return;
  const lookup = lookupOf(context, task);
  if (!(await allHaveValues(declared.when ?? [], lookup))) return;
  const results: ActionResult[] = [];
  for (const [index, action] of declared.actions.entries()) {
    const about = { index, action: kindOf(action), attempts: 1 };
    const hasFailed = results.some(({ status }) => status !== 'executed');
    if (hasFailed) {
      results.push({ ...about, attempts: 0, status: 'not_executed', result: null, error: null });
      continue;
    }
    const done = await attemptAction(context, () => executeDeclaredAction(context, task, action, lookup));
    results.push({ ...about, status: done.error === null ? 'executed' : 'failed', ...done });
  }
  note(context, task, rules, results);
}

function note(context: Context, task: Task, rules: TypeRules, results: readonly ActionResult[]): void {
  const about = { entityId: task.id, workspaceId: task.workspaceId };
  const actions = results.map(summaryOf);
  const payload = { publicId: task.publicId, taskTypeId: rules.id, actions };
  const failedAction = actions.find(({ status }) => status === 'failed');
  if (failedAction === undefined) emit(context, completionWorkExecuted, about, payload);
  else emit(context, completionWorkFailed, about, { ...payload, failedAction });
}
