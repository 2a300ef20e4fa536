import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { attemptAction } from '../../work/declared-actions/declared-actions.ts';
import { NewTask } from '../../work/tasks/task.ts';
import { createTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import type { OutcomeOfApprovalRow } from './outcome.ts';

/**
 * Files a task for the decider of an outcome that failed, in the name of the core itself: in the approval's workspace, or
 * where that takes no tasks, in none.
 * @returns the id of the task; null where none could be made
 */
export async function fileFailureWork(
  context: Context,
  outcome: OutcomeOfApprovalRow,
  error: { code: string },
): Promise<string | null> {
  const { tenantId } = context;
  const principalId = await getCorePrincipalId(context);
  const caller = {
    tenantId,
    principalId,
    kind: 'service',
    iamPrincipalId: null,
    permissions: new Set<string>(),
  } as const;
  const core = { ...context, caller };
  for (const workspaceId of new Set([outcome.workspace_id, null])) {
    const request = NewTask.parse({
      title: 'What you decided could not be done',
      description: `What follows from approval ${outcome.approval_id} (${outcome.outcome}) failed: ${error.code}.`,
      priority: 'high',
      assigneeId: outcome.decision_by_principal_id,
      workspaceId,
    });
    const { result } = await attemptAction(core, async () => ({
      taskId: (await createTask(core, request)).id,
    }));
    if (result !== null) return String(result['taskId']);
  }
  return null;
}
