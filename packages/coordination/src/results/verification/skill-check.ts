import { Refusal } from '@baton/kernel/http/refusal';
import { eventText } from '@baton/values/event-text';
import type { Json, JsonObject } from '@baton/values/wire';
import { mayAllowEffects, skillOfCheck } from '../../definitions/acceptance/acceptance.ts';
import { UnresolvedExpression, valueOfDocument } from '../../definitions/declared-actions/expressions.ts';
import { lookupIn } from '../../definitions/declared-actions/filled-actions.ts';
import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import type { AuthorizationBasis } from '../../leases/invocations/invocation-row.ts';
import { findSkillByRef } from '../../organisation/skills/skills.ts';
import { type ApprovalRow, renewApproval } from '../../work/gates/gates.ts';
import { showsCall } from '../../work/gates/subject.ts';
import { subjectTaskOf } from '../../work/tasks/lookup.ts';
import { taskOf } from '../../work/tasks/task.ts';
import type { AttemptCheck } from '../../work/verifications/attempt.ts';
import { getApprovalRow } from '../approvals/approvals.ts';
import type { Context } from '../context.ts';
import {
  getInvocationEnd,
  type InvocationEnd,
  missesExpected,
  requestInvocation,
} from '../invocations/request-invocation.ts';
import { type CheckEvaluation, type CheckOutcome, resultOfApproval } from './check-evaluation.ts';
import { findNewestOfCheck } from './verifications.sql.ts';

/**
 * Evaluates a check with a skill: calls it once per attempt and compares the output. See
 * docs/reference/completion.md#checks.
 */

export async function evaluateBySkill(context: Context, evaluation: CheckEvaluation): Promise<CheckOutcome> {
  const { attempt, hasWaited } = evaluation;
  const called = hasWaited ? attempt.skill_invocation_id : null;
  if (called === null) return call(context, evaluation);
  const end = await getInvocationEnd(context, called);
  if (end === undefined) throw new Error('the pending call of an attempt is missing');
  if (end.status !== 'pending' && end.status !== 'running') return resultOfCall(evaluation, end);
  if (attempt.waited_seconds < context.settings.CP_VERIFICATION_SKILL_TIMEOUT_SECONDS)
    return { is: 'waiting', for: 'running', invocationId: called };
  await withdrawCall(context, called);
  return {
    is: 'failed',
    reason: 'no_result',
    message: 'The skill did not respond in time.',
    evidence: [`invocation:${called}`],
  };
}

/** Cancels the attempt's call if it is still live. */
export async function withdrawCall(context: Context, invocationId: string): Promise<void> {
  const over = { code: 'cancelled', reason: 'verification_over', initiator: 'system' } as const;
  await cancelCalls(context, [invocationId], over);
}

/**
 * Requests the call on behalf of the requester of the completion. For a skill with external effects, the inputs are
 * those that a person approved, regardless of later changes to the task.
 */
async function call(context: Context, evaluation: CheckEvaluation): Promise<CheckOutcome> {
  const { acting, check, lookup } = evaluation;
  const ref = skillOfCheck(check) as string;
  const skill = await findSkillByRef(acting, ref);
  const allowing =
    skill?.side_effects === 'external_write' ? await findAllowing(context, evaluation) : undefined;
  try {
    if (allowing !== undefined) return await callAsAgreed(evaluation, ref, allowing);
    return await request(evaluation, await valueOfDocument(check.spec?.['inputs'] ?? {}, lookup), null);
  } catch (error) {
    if (error instanceof UnresolvedExpression) return refused(`unresolved_expression ${error.message}`);
    if (error instanceof Refusal) return refused(error.code);
    throw error;
  }
}

async function callAsAgreed(
  evaluation: CheckEvaluation,
  ref: string,
  { key, approval }: { key: string; approval: ApprovalRow },
): Promise<CheckOutcome> {
  const { acting, attempt, task, check, lookup } = evaluation;
  const { id: approvalId, subject, status } = approval;
  if (status !== 'approved') return resultOfApproval(approval);
  if (subject !== null && showsCall(subject, ref)) {
    const inputs = await valueOfDocument(check.spec?.['inputs'] ?? {}, lookupIn(subject.values, lookup));
    if (showsCall(subject, ref, inputs)) return request(evaluation, inputs, { kind: 'approval', approvalId });
  }
  // The check was added or changed after the approval.
  const why = `Check ${check.key} calls ${ref}.`;
  const subjectNow = subjectTaskOf(acting, taskOf(task));
  const renewal = await renewApproval(acting, subjectNow, approval, why, { verificationId: attempt.id, key });
  return { is: 'waiting', for: 'waiting_human', approvalId: renewal.id };
}

async function request(
  { acting, attempt, task, check }: CheckEvaluation,
  inputs: Json,
  basis: AuthorizationBasis | null,
): Promise<CheckOutcome> {
  const { id } = await requestInvocation(acting, {
    requestedBy: { kind: 'verification', ref: attempt.id },
    skill: skillOfCheck(check) as string,
    inputs,
    idempotencyKey: `${attempt.id}:${check.source}:${check.key}`,
    task: { id: task.id, workspaceId: task.workspace_id },
    basis,
  });
  return { is: 'waiting', for: 'running', invocationId: id };
}

function refused(why: string): CheckOutcome {
  return { is: 'failed', reason: 'no_result', message: `The skill could not be called: ${why}.` };
}

/**
 * The last earlier check with the same condition that a person approved, with its newest approval. If the task was
 * changed after the decision, that is the renewed request.
 */
async function findAllowing(
  context: Context,
  { checks, results, check, attempt }: CheckEvaluation,
): Promise<{ key: string; approval: ApprovalRow } | undefined> {
  const allowing = results.findLast(
    ({ status }, index) => status === 'passed' && mayAllowEffects(checks[index] as AttemptCheck, check),
  );
  if (allowing === undefined) return undefined;
  const { key, evidence } = allowing;
  const newest = await context.db.row(findNewestOfCheck(context.tenantId, attempt, key));
  if (newest !== undefined) return { key, approval: newest };
  // In an attempt from before migration 0094, the check may have been passed by an approval that doesn't name it.
  const [, approvalId] = /^approval:(.+)$/.exec(evidence[0] ?? '') ?? [];
  return approvalId === undefined ? undefined : { key, approval: await getApprovalRow(context, approvalId) };
}

function resultOfCall({ check }: CheckEvaluation, end: InvocationEnd): CheckOutcome {
  const evidence = [
    `invocation:${end.id}`,
    ...(end.artifactId === null ? [] : [`artifact:${end.artifactId}`]),
  ];
  if (end.status !== 'succeeded') {
    const { code = '', message = '' } = end.error ?? {};
    const reason = end.status === 'failed' ? 'skill_failed' : 'skill_cancelled';
    return { is: 'failed', reason, message: eventText(`${code}: ${message}`), evidence };
  }
  const missed = missesExpected(end, check.spec?.['expect'] as JsonObject | undefined);
  if (missed === undefined) return { is: 'passed', evidence };
  const message = eventText(`The output doesn't have the required value of ${missed}.`);
  return { is: 'failed', reason: 'expectation_not_met', message, evidence };
}
