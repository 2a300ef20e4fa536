import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { attemptAction } from '../../work/declared-actions/declared-actions.ts';
import { NewTask } from '../../work/tasks/task.ts';
import { createTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import type { OutcomeOfApprovalRow } from './outcome.ts';

/**
 * Creates a task for the decider of a failed outcome, on behalf of the core itself: in the approval's workspace, or
 * without a workspace if the approval's workspace accepts no tasks.
 * @returns the id of the task; null if none could be created
 */
export async function createFailureTask(
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
      title: 'The outcome of your decision failed',
      description: `The outcome of approval ${outcome.approval_id} (${outcome.outcome}) failed: ${error.code}.`,
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
