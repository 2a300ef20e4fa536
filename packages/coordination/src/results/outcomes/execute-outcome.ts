import type { Json } from '@baton/values/wire';
import { resolveSnapshot } from '../../access/authn/credential-snapshot.ts';
import { type Lookup, valueOfText } from '../../definitions/declared-actions/expressions.ts';
import { lookupIn } from '../../definitions/declared-actions/filled-actions.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { type ActionResult, attemptAction, summaryOf } from '../../work/declared-actions/declared-actions.ts';
import { lookupOf } from '../../work/tasks/lookup.ts';
import { type Task, type TaskRow, taskOf } from '../../work/tasks/task.ts';
import { parseTaskRef } from '../../work/tasks/task-ref.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { executeDecisionAction, type Subject, waitingCodes } from './decision-actions.ts';
import { createFailureTask } from './failure-work.ts';
import { type OutcomeOfApprovalRow, stepsOf, untriedResult } from './outcome.ts';
import { executeCall, withCall } from './outcome-call.ts';
import { outcomeDeferred, outcomeExecuted, outcomeFailed } from './outcomes.events.ts';
import {
  findOutcome,
  lockDueOutcome,
  lockFreeTasks,
  type OutcomeProgress,
  updateOutcome,
} from './outcomes.sql.ts';

/** Maximum number of consecutive unexpected failures of an outcome, and the delays between them. */
const failuresMax = 8;
const pauseSecondsMin = 2;
const pauseSecondsMax = 300;

/**
 * Executes as much as possible of the outcome of a decision, in one transaction and on behalf of the decider. See
 * docs/reference/approvals.md#outcomes.
 * @returns 1, or 0 if another transaction has locked a task or the outcome: the outcome stays due
 */
export async function executeOutcome(context: Context, approvalId: string): Promise<number> {
  const { db, tenantId } = context;
  const asked = await db.row(findOutcome(tenantId, approvalId));
  if (asked === undefined) return 0;
  // Principals are locked before tasks, and tasks before approvals.
  const caller = await resolveSnapshot(context, asked.credential);
  const gateTask = await getTask(context, { id: asked.task_id, number: null });
  const taskIds = new Set([gateTask.id, ...(await targetsOf(context, asked, gateTask))]);
  const locked = await db.rows(lockFreeTasks(tenantId, [...taskIds]));
  if (locked.length < taskIds.size) return 0;
  const outcome = await db.row(lockDueOutcome(tenantId, approvalId));
  if (outcome === undefined) return 0;
  const causationId = outcome.decision_event_id;
  if (caller === undefined) {
    const error = { code: 'credential_inactive', details: {} };
    await failOutcome({ ...context, causationId }, outcome, outcome.actions, error);
    return 1;
  }
  const task = taskOf(locked.find(({ id }) => id === gateTask.id) as TaskRow);
  const acting = { ...context, caller, causationId };
  const { outcome: decision } = outcome;
  const lookup = lookupOfOutcome(acting, outcome, task);
  await doActions(acting, outcome, { approvalId, decision, task, lookup });
  return 1;
}

/**
 * The tasks of all actions, so that they are locked at once; an action whose task is invalid fails when it is executed.
 */
async function targetsOf(context: Context, outcome: OutcomeOfApprovalRow, task: Task): Promise<string[]> {
  const lookup = lookupOfOutcome(context, outcome, task);
  const ids: string[] = [];
  for (const { action } of stepsOf(outcome.declared)) {
    const named =
      'completeTask' in action
        ? action.completeTask.task
        : 'transition' in action
          ? action.transition.task
          : undefined;
    if (named === undefined) continue;
    const value: Json = await valueOfText(named, lookup).catch(() => null);
    const found = await getTask(context, parseTaskRef(typeof value === 'string' ? value : '')).catch(
      () => undefined,
    );
    if (found !== undefined) ids.push(found.id);
  }
  return ids;
}

/**
 * The values of the expressions at the time of the decision. For decisions made before such values were stored, the
 * expressions are resolved now.
 */
function lookupOfOutcome(context: Context, outcome: OutcomeOfApprovalRow, task: Task): Lookup {
  const now = lookupOf(context, task, { approval: approvalOf(outcome) });
  return outcome.expression_values === null ? now : lookupIn(outcome.expression_values, now);
}

/** The value of `$.approval`. */
function approvalOf(outcome: OutcomeOfApprovalRow) {
  return {
    id: outcome.approval_id,
    comment: outcome.decision_comment,
    decidedBy: outcome.decision_by_principal_id,
    decidedAt: outcome.decision_at,
    outcome: outcome.outcome,
  };
}

/** Executes the remaining actions in order, up to the first that fails or has to wait. */
async function doActions(acting: Context, outcome: OutcomeOfApprovalRow, subject: Subject): Promise<void> {
  const steps = stepsOf(outcome.declared);
  const results = steps.map(({ action }, index) => outcome.actions[index] ?? untriedResult(action, index));
  for (const [index, step] of steps.entries()) {
    const before = results[index] as ActionResult;
    if (before.status === 'executed' || before.status === 'skipped') continue;
    if ('invokeSkill' in step.action) {
      const call = await executeCall(acting, subject, step.action.invokeSkill, before);
      results[index] = call.result;
      if (call.is === 'waiting')
        return defer(acting, outcome, results, { waiting: call.result, error: call.error });
      if (call.is === 'failed') return failOutcome(acting, outcome, results, call.error);
      continue;
    }
    const { action } = step;
    const cause = step.reactsTo === null ? undefined : results[step.reactsTo];
    if (cause !== undefined && cause.result?.['ended'] !== step.when) {
      results[index] = { ...before, status: 'skipped', result: { skipped: 'condition_unmet' } };
      continue;
    }
    const reacting = cause === undefined ? subject : await withCall(acting, subject, cause);
    const { result, error } = await attemptAction(acting, () =>
      executeDecisionAction(acting, reacting, action),
    );
    if (error !== null && waitingCodes.includes(error.code)) {
      results[index] = { ...before, status: 'not_executed', result: null, error: null };
      return defer(acting, outcome, results, { waiting: results[index], error });
    }
    const done = result?.['skipped'] === undefined ? 'executed' : 'skipped';
    const status = error === null ? done : 'failed';
    results[index] = { ...before, attempts: before.attempts + 1, status, result, error };
    if (error !== null) return failOutcome(acting, outcome, results, error);
  }
  await write(acting, outcome, { status: 'executed', actions: results, isAttempt: true, againSeconds: null });
  const payload = { taskId: outcome.task_id, outcome: outcome.outcome, actions: results.map(summaryOf) };
  emit(acting, outcomeExecuted, aboutOf(outcome), payload);
}

/** Schedules the next attempt. The event is written once per wait, not once per attempt. */
async function defer(
  acting: Context,
  outcome: OutcomeOfApprovalRow,
  actions: readonly ActionResult[],
  { waiting, error }: { waiting: ActionResult; error: NonNullable<ActionResult['error']> },
): Promise<void> {
  const againSeconds = acting.settings.CP_APPROVAL_OUTCOME_DEFER_SECONDS;
  const isSame = outcome.outcome_status === 'deferred' && outcome.last_error?.code === error.code;
  await write(acting, outcome, {
    status: 'deferred',
    actions,
    isAttempt: false,
    againSeconds,
    lastError: error,
  });
  if (isSame) return;
  emit(acting, outcomeDeferred, aboutOf(outcome), {
    taskId: outcome.task_id,
    outcome: outcome.outcome,
    waitingAction: summaryOf(waiting),
    reason: error.code,
    details: error.details,
  });
}

/** Ends an outcome as failed and creates a task for the decider, only once, so that a person handles it. */
async function failOutcome(
  context: Context,
  outcome: OutcomeOfApprovalRow,
  actions: readonly ActionResult[],
  error: NonNullable<ActionResult['error']>,
): Promise<void> {
  const failureTaskId = outcome.failure_task_id ?? (await createFailureTask(context, outcome, error));
  const end = { status: 'failed', actions, isAttempt: true, againSeconds: null } as const;
  await write(context, outcome, { ...end, lastError: error, failureTaskId });
  const failed = actions.find(({ status }) => status === 'failed');
  emit(context, outcomeFailed, aboutOf(outcome), {
    taskId: outcome.task_id,
    outcome: outcome.outcome,
    failedAction: failed === undefined ? null : summaryOf(failed),
    actions: actions.map(summaryOf),
    failureWorkTaskId: failureTaskId,
  });
}

/**
 * Records an unexpected failure of an attempt, which was rolled back. The next attempt follows after a delay that
 * doubles; after the last one the outcome fails.
 */
export async function recordFailedAttempt(context: Context, approvalId: string): Promise<number> {
  const outcome = await context.db.row(lockDueOutcome(context.tenantId, approvalId));
  if (outcome === undefined) return 0;
  const failures = outcome.failures + 1;
  const lastError = { code: 'internal_error', details: {} };
  if (failures >= failuresMax) {
    const exhausted = { code: 'outcome_attempts_exhausted', details: { attempts: failures } };
    const causing = { ...context, causationId: outcome.decision_event_id };
    await failOutcome(causing, outcome, outcome.actions, exhausted);
    return 1;
  }
  const againSeconds = Math.min(pauseSecondsMin * 2 ** (failures - 1), pauseSecondsMax);
  const { actions } = outcome;
  await write(context, outcome, {
    status: 'pending',
    actions,
    isAttempt: true,
    againSeconds,
    failures,
    lastError,
  });
  return 1;
}

async function write(
  { db, tenantId }: Context,
  outcome: OutcomeOfApprovalRow,
  progress: Pick<OutcomeProgress, 'status' | 'actions' | 'isAttempt' | 'againSeconds'> &
    Partial<OutcomeProgress>,
): Promise<void> {
  const { failure_task_id: failureTaskId } = outcome;
  const whole = { failures: 0, lastError: null, failureTaskId, ...progress };
  await db.run(updateOutcome(tenantId, outcome.approval_id, whole));
}

function aboutOf({ approval_id: entityId, workspace_id: workspaceId }: OutcomeOfApprovalRow) {
  return { entityId, workspaceId };
}
