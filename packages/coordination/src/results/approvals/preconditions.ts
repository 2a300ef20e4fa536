import type { Precondition } from '../../definitions/declared-actions/approval-schema.ts';
import { ConditionFault, holdsCondition } from '../../definitions/declared-actions/evaluate-condition.ts';
import {
  type Lookup,
  UnresolvedExpression,
  valueOfText,
} from '../../definitions/declared-actions/expressions.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import { lookupOf } from '../../work/tasks/lookup.ts';
import type { Task } from '../../work/tasks/task.ts';
import { parseTaskRef } from '../../work/tasks/task-ref.ts';
import { findTaskUnseen } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { Observable } from '../observations/observation.ts';
import { findNewest } from '../observations/observations.ts';
import { findPartiesOfApproval } from '../provers/provers.ts';

/** A failed precondition, with the observation that it was checked against. */
interface Failure {
  cause:
    | 'unresolved_expression'
    | 'observation_missing'
    | 'not_a_prover'
    | 'condition_not_met'
    | 'condition_error';
  observationId?: string;
}

/**
 * Checks the preconditions of a gate before it is approved. For each one, the newest observation that has not been
 * superseded must exist and satisfy the condition. Its author must neither have worked on the task nor have requested
 * the approval. Paths start at `payload`, the payload of the observation's event, or at `task`. See
 * docs/reference/approvals.md#approve-and-reject.
 * @throws Refusal `approval_precondition_failed` with all conditions that fail
 */
export async function requirePreconditions(
  context: Context,
  approval: ApprovalRow,
  preconditions: readonly Precondition[],
): Promise<void> {
  if (preconditions.length === 0 || approval.task_id === null) return;
  const task = (await findTaskUnseen(context, { id: approval.task_id, number: null })) ?? fail('not_found');
  const lookup = lookupOf(context, task);
  const barred = await findPartiesOfApproval(context, { id: approval.id, taskId: task.id });
  const failed = [];
  for (const [index, precondition] of preconditions.entries()) {
    const failure = await failureOf(context, task, precondition, { lookup, barred });
    const { observation, reason } = precondition;
    if (failure !== undefined) failed.push({ index, kind: observation.kind, reason, ...failure });
  }
  if (failed.length > 0) fail('approval_precondition_failed', { failed });
}

async function failureOf(
  context: Context,
  task: Task,
  { observation, condition = true }: Precondition,
  { lookup, barred }: { lookup: Lookup; barred: readonly string[] },
): Promise<Failure | undefined> {
  const observable = await observableOf(context, task, observation, lookup);
  if (observable === undefined) return { cause: 'unresolved_expression' };
  const found = await findNewest(context, { ...observable, barred });
  if (found === undefined) return { cause: 'observation_missing' };
  const { id: observationId, payload, isProof } = found;
  if (!isProof) return { cause: 'not_a_prover', observationId };
  try {
    if (holdsCondition(condition, { payload, task })) return undefined;
    return { cause: 'condition_not_met', observationId };
  } catch (error) {
    if (error instanceof ConditionFault) return { cause: 'condition_error', observationId };
    throw error;
  }
}

/** The key for finding the observation; without a task or an external object, it concerns the gate's own task. */
async function observableOf(
  context: Context,
  own: Task,
  { kind, source, task, externalRef }: Precondition['observation'],
  lookup: Lookup,
): Promise<Omit<Observable, 'barred'> | undefined> {
  try {
    const ref = externalRef && {
      system: await resolveText(externalRef.system, lookup),
      id: await resolveText(externalRef.id, lookup),
    };
    const about =
      task === undefined ? own : await findTaskUnseen(context, parseTaskRef(await resolveText(task, lookup)));
    if (about === undefined) return undefined;
    const isOfTask = task !== undefined || ref === undefined;
    return { kind, source, externalRef: ref, taskId: isOfTask ? about.id : undefined };
  } catch (error) {
    if (error instanceof UnresolvedExpression) return undefined;
    throw error;
  }
}

/**
 * @throws UnresolvedExpression if the value is neither a string nor a number
 */
async function resolveText(text: string, lookup: Lookup): Promise<string> {
  const value = await valueOfText(text, lookup);
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '')
    throw new UnresolvedExpression(text);
  return String(value);
}
