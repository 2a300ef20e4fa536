import { Refusal } from '@baton/kernel/refusal';
import type { JsonObject } from '@baton/kernel/wire';
import { mayAllowEffects, skillOfCheck } from '../../definitions/acceptance/acceptance.ts';
import { UnresolvedExpression, valueOfDocument } from '../../definitions/declared-actions/expressions.ts';
import { cancelCalls } from '../../leases/invocations/cancelling.ts';
import type { AuthorizationBasis } from '../../leases/invocations/invocation-row.ts';
import { eventText } from '../../service/documents.ts';
import type { Context } from '../context.ts';
import {
  getInvocationEnd,
  type InvocationEnd,
  missesExpected,
  requestInvocation,
} from '../invocations/requesting.ts';
import type { Judged, Verdict } from './judgement.ts';

/** A skill judges a check (core, section 8.8): it is called once for the attempt, and its output is compared. */

export async function judgeBySkill(context: Context, judged: Judged): Promise<Verdict> {
  const { attempt, hasWaited } = judged;
  const called = hasWaited ? attempt.skill_invocation_id : null;
  if (called === null) return call(judged);
  const end = await getInvocationEnd(context, called);
  if (end === undefined) throw new Error('the call that an attempt waits for is missing');
  if (end.status !== 'pending' && end.status !== 'running') return verdictOf(judged, end);
  if (attempt.waited_seconds < context.settings.CP_VERIFICATION_SKILL_TIMEOUT_SECONDS)
    return { is: 'waiting', for: 'running', invocationId: called };
  await withdrawCall(context, called);
  return {
    is: 'failed',
    reason: 'no_result',
    message: 'The skill did not answer in time.',
    evidence: [`invocation:${called}`],
  };
}

/** Takes back the call that an attempt waited for, if it lives still. */
export async function withdrawCall(context: Context, invocationId: string): Promise<void> {
  const over = { code: 'cancelled', reason: 'verification_over', initiator: 'system' } as const;
  await cancelCalls(context, [invocationId], over);
}

/** Asks for the call in the name of who asked for the completion. */
async function call(judged: Judged): Promise<Verdict> {
  const { acting, attempt, task, check, lookup } = judged;
  try {
    const { id } = await requestInvocation(acting, {
      requestedBy: { kind: 'verification', ref: attempt.id },
      skill: skillOfCheck(check) as string,
      inputs: await valueOfDocument(check.spec?.['inputs'] ?? {}, lookup),
      idempotencyKey: `${attempt.id}:${check.source}:${check.key}`,
      task: { id: task.id, workspaceId: task.workspace_id },
      basis: basisOf(judged),
    });
    return { is: 'waiting', for: 'running', invocationId: id };
  } catch (error) {
    if (error instanceof UnresolvedExpression) return refused(`unresolved_expression ${error.message}`);
    if (error instanceof Refusal) return refused(error.code);
    throw error;
  }
}

function refused(why: string): Verdict {
  return { is: 'failed', reason: 'no_result', message: `The skill could not be called: ${why}.` };
}

/** What a person allowed by an earlier check of the same condition. */
function basisOf({ checks, results, check }: Judged): AuthorizationBasis | null {
  const allowing = results.findLast(
    ({ status }, index) => status === 'passed' && mayAllowEffects(checks[index] as never, check),
  );
  const [, approvalId] = /^approval:(.+)$/.exec(allowing?.evidence[0] ?? '') ?? [];
  return approvalId === undefined ? null : { kind: 'approval', approvalId };
}

function verdictOf({ check }: Judged, end: InvocationEnd): Verdict {
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
  const message = eventText(`The output has another value of ${missed}.`);
  return { is: 'failed', reason: 'expectation_not_met', message, evidence };
}
