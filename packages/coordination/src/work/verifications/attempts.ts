import { newId } from '@baton/values/ids';
import { snapshotOf } from '../../access/authn/credential-snapshot.ts';
import type { TaskCheck } from '../../definitions/acceptance/acceptance.ts';
import { withoutAuthor } from '../../definitions/acceptance/author.ts';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import type { AttemptCheck, AttemptRow, AttemptTrigger } from './attempt.ts';
import { verificationStarted } from './attempts.events.ts';
import { insertAttempt, updateOpenAttemptToCancelled, updateOpenAttemptToDue } from './attempts.sql.ts';

/**
 * All conditions for completing a task, in the order of evaluation (docs/reference/completion.md#checks): the required
 * outputs of its type, the type's checks, then the task's own. Empty if completion needs no verification.
 */
export function checksOf(
  { acceptance, requiredOutputs }: Pick<TypeRules, 'acceptance' | 'requiredOutputs'>,
  task: { acceptance: readonly TaskCheck[] },
): AttemptCheck[] {
  const outputs = requiredOutputs.map(({ key, type, mediaTypes, content = 'required' }) => ({
    key: `output.${key}`,
    kind: 'deterministic' as const,
    description: `The task has an artifact of type ${type}.`,
    spec: { artifact: { type, content, ...(mediaTypes !== undefined && { mediaTypes: [...mediaTypes] }) } },
    source: 'output' as const,
  }));
  return [
    ...outputs,
    ...acceptance.map((check) => ({ ...check, source: 'type' as const })),
    ...task.acceptance.map((check) => ({ ...withoutAuthor(check), source: 'task' as const })),
  ];
}

/** The cause of an attempt. */
export interface AttemptOf {
  task: { id: string; public_id: string; workspace_id: string | null };
  checks: readonly AttemptCheck[];
  trigger: AttemptTrigger;
  /** The run or the approval that requested the completion. */
  triggerRef: string | null;
  sessionId: string | null;
}

/** Opens an attempt on behalf of the caller. The task is locked, and has no open attempt. */
export async function openAttempt(context: Context, opened: AttemptOf): Promise<AttemptRow> {
  const { caller, tenantId } = context;
  const { task, checks, trigger, triggerRef, sessionId } = opened;
  // If a rule or a person's decision requests the completion, the requester is the declaration, not the person.
  const isDeclared = (trigger === 'rule' || trigger === 'approval') && caller.kind === 'human';
  const requesterId = isDeclared ? null : caller.principalId;
  const about = { taskId: task.id, checks, trigger, triggerRef, requesterId };
  const attempt = (await context.db.row(
    insertAttempt({ id: newId(), tenantId, ...about, credential: snapshotOf(caller) }),
  )) as AttemptRow;
  emit(
    context,
    verificationStarted,
    { entityId: task.id, workspaceId: task.workspace_id, sessionId },
    {
      publicId: task.public_id,
      taskId: task.id,
      verificationId: attempt.id,
      attempt: attempt.attempt,
      trigger,
      checks: checks.length,
    },
  );
  return attempt;
}

/**
 * Cancels the open attempt of a locked, cancelled task. No separate event is written, because the event about the
 * task's change of status covers it.
 */
export async function cancelOpenAttempt({ db, tenantId }: Context, taskId: string): Promise<void> {
  await db.run(updateOpenAttemptToCancelled(tenantId, taskId));
}

/** Wakes the open attempt of a locked task after a change that the attempt may wait for. */
export async function wakeOpenAttempt({ db, tenantId }: Context, taskId: string): Promise<void> {
  await db.run(updateOpenAttemptToDue(tenantId, taskId));
}
