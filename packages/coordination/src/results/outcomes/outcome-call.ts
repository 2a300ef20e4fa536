import { eventText } from '@baton/values/event-text';
import type { JsonObject } from '@baton/values/wire';
import type { InvokeSkill } from '../../definitions/declared-actions/actions.ts';
import { valueOfDocument } from '../../definitions/declared-actions/expressions.ts';
import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import { type ActionResult, attemptAction } from '../../work/declared-actions/declared-actions.ts';
import { lookupOf } from '../../work/tasks/lookup.ts';
import type { Context } from '../context.ts';
import {
  getInvocationEnd,
  type InvocationEnd,
  missesExpected,
  requestInvocation,
} from '../invocations/request-invocation.ts';
import type { Subject } from './decision-actions.ts';

type ActionError = NonNullable<ActionResult['error']>;

/** The state of a call that an outcome requested. */
export type CallStep =
  | { is: 'done'; result: ActionResult }
  | { is: 'waiting'; result: ActionResult; error: ActionError }
  | { is: 'failed'; result: ActionResult; error: ActionError };

/**
 * Calls a skill on behalf of the decider, or checks the call that was already requested. A failure with declared
 * reactions doesn't fail the outcome. See docs/reference/approvals.md#outcomes.
 */
export async function executeCall(
  acting: Context,
  subject: Subject,
  declared: InvokeSkill,
  before: ActionResult,
): Promise<CallStep> {
  const known = before.status === 'failed' ? undefined : before.result?.['invocationId'];
  if (typeof known !== 'string') return ask(acting, subject, declared, before);
  const end = await getInvocationEnd(acting, known);
  if (end === undefined) throw new Error('the call of an outcome is missing');
  if (end.status === 'pending' || end.status === 'running') return wait(acting, end, before);
  return settle(declared, end, before);
}

async function ask(
  acting: Context,
  { approvalId, decision, task, lookup }: Subject,
  declared: InvokeSkill,
  before: ActionResult,
): Promise<CallStep> {
  const { result, error } = await attemptAction(acting, async () => {
    const call = await requestInvocation(acting, {
      requestedBy: { kind: 'approval', ref: approvalId },
      skill: declared.skill,
      inputs: await valueOfDocument(declared.inputs ?? {}, lookup),
      idempotencyKey: `${approvalId}:${before.index}:${before.attempts}`,
      task: { id: task.id, workspaceId: task.workspaceId },
      basis: decision === 'approved' ? { kind: 'approval', approvalId } : null,
    });
    return { invocationId: call.id };
  });
  if (error !== null) return failed(before, null, error);
  const invocationId = String(result?.['invocationId']);
  return waiting({ ...before, status: 'not_executed', result, error: null }, invocationId);
}

function waiting(result: ActionResult, invocationId: string): CallStep {
  return { is: 'waiting', result, error: { code: 'skill_running', details: { invocationId } } };
}

async function wait(
  acting: Context,
  { id, ageSeconds }: InvocationEnd,
  before: ActionResult,
): Promise<CallStep> {
  if (ageSeconds < acting.settings.CP_APPROVAL_OUTCOME_SKILL_WAIT_SECONDS) return waiting(before, id);
  await cancelCalls(acting, [id], { code: 'cancelled', reason: 'outcome_wait_over', initiator: 'system' });
  return failed(before, before.result, { code: 'skill_wait_expired', details: { invocationId: id } });
}

function settle(declared: InvokeSkill, end: InvocationEnd, before: ActionResult): CallStep {
  const { id: invocationId, status } = end;
  const missed = status === 'succeeded' ? missesExpected(end, declared.expect) : undefined;
  const isSuccess = status === 'succeeded' && missed === undefined;
  const result = { invocationId, status, ended: isSuccess ? 'success' : 'failure' };
  const executed = {
    ...before,
    attempts: before.attempts + 1,
    status: 'executed',
    result,
    error: null,
  } as const;
  if (isSuccess || (declared.onFailure ?? []).length > 0) return { is: 'done', result: executed };
  if (missed !== undefined)
    return failed(before, result, { code: 'expectation_not_met', details: { invocationId, field: missed } });
  const code = status === 'cancelled' ? 'skill_cancelled' : 'skill_failed';
  const details = {
    invocationId,
    error: { code: end.error?.code ?? '', message: eventText(end.error?.message ?? '') },
  };
  return failed(before, result, { code, details });
}

function failed(before: ActionResult, result: JsonObject | null, error: ActionError): CallStep {
  const failure = { ...before, attempts: before.attempts + 1, status: 'failed', result, error } as const;
  return { is: 'failed', result: failure, error };
}

/** The subject for a reaction: `$.invocation` is the ended call. */
export async function withCall(acting: Context, subject: Subject, cause: ActionResult): Promise<Subject> {
  const end = await getInvocationEnd(acting, String(cause.result?.['invocationId']));
  if (end === undefined) throw new Error('the call of an outcome is missing');
  const output = Object.entries(end.output ?? {}).map(([name, value]) => [`output.${name}`, value] as const);
  const invocation = {
    ...Object.fromEntries(output),
    id: end.id,
    skill: end.skill,
    status: end.status,
    'error.code': end.error?.code ?? null,
    'error.message': end.error?.message ?? null,
  };
  const { lookup } = subject;
  const ofCall = lookupOf(acting, subject.task, { invocation });
  return {
    ...subject,
    lookup: (expression) => (expression.root === 'invocation' ? ofCall(expression) : lookup(expression)),
  };
}
