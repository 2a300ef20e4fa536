import type { JsonObject } from '@baton/values/wire';
import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import { payloadBytesMax } from '../../results/invocations/invocation.ts';
import { type InvocationEnd, requestInvocation } from '../../results/invocations/request-invocation.ts';
import type { RuleRoots } from '../acts/cause.ts';
import type { Acting } from '../acts/work-item.ts';
import type { Context } from '../context.ts';
import type { RuleInterpretation } from '../documents/interpretation.ts';
import { renderDocument } from '../documents/template.ts';
import { fail } from '../errors.ts';
import { type Finding, failed, waitingLimit } from './evaluation.ts';
import { isPendingLimitReached } from './evaluations.ts';

/** The maximum length of a string in the inputs that mixes a placeholder with other text. */
const inputCharactersMax = 10_000;
/** The size limit of a call's inputs. */
const inputsCharactersMax = payloadBytesMax;

/** Calls the skill of a rule once per evaluation; its result is the root `skill` of the action. @throws Refusal */
export async function callSkill(
  { context, rule, evaluationId, cause }: Acting,
  { skill, inputs }: RuleInterpretation,
  roots: RuleRoots,
): Promise<Finding> {
  if (await isPendingLimitReached(context, rule, evaluationId)) return failed(waitingLimit, {});
  const room = { charactersMax: inputCharactersMax, charactersLeft: inputsCharactersMax };
  const rendered = renderDocument(inputs, roots, room);
  if (rendered === undefined)
    return fail('payload_too_large', { field: 'inputs', maxBytes: inputsCharactersMax });
  const { id } = await requestInvocation(context, {
    requestedBy: { kind: 'rule', ref: evaluationId },
    skill,
    inputs: rendered,
    idempotencyKey: evaluationId,
    workspaceId: rule.workspace_id ?? cause.workspaceId,
  });
  return {
    status: 'waiting',
    result: { conditionMatched: true, waitingFor: 'skill' },
    pending: { cause, isAsking: true, waiting: [] },
    skillInvocationId: id,
  };
}

/** The part of the result that the action reads. */
export function skillRootOf({ id, status, output, artifactId }: InvocationEnd): JsonObject {
  return { status, output, invocationId: id, artifactId };
}

/** Cancels the call that an evaluation waits for, if it is still open. */
export async function cancelSkillCall(
  context: Context,
  invocationId: string | null,
  reason: string,
): Promise<void> {
  if (invocationId === null) return;
  await cancelCalls(context, [invocationId], { code: 'cancelled', reason, initiator: 'system' });
}
