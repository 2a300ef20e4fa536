import type { JsonObject } from '@baton/values/wire';
import { cancelCalls } from '../../leases/invocations/cancelling.ts';
import { payloadBytesMax } from '../../results/invocations/invocation.ts';
import { type InvocationEnd, requestInvocation } from '../../results/invocations/requesting.ts';
import type { RuleRoots } from '../acts/cause.ts';
import type { Acting } from '../acts/work-item.ts';
import type { Context } from '../context.ts';
import type { RuleInterpretation } from '../documents/interpretation.ts';
import { renderDocument } from '../documents/template.ts';
import { fail } from '../errors.ts';
import { type Finding, failed, waitingLimit } from './evaluation.ts';
import { mayNotWait } from './evaluations.ts';

/** Of a text in inputs that has other text beside its placeholder. */
const inputCharactersMax = 10_000;
/** As many as the inputs of a call may have bytes. */
const inputsCharactersMax = payloadBytesMax;

/** Asks the skill of a rule, once for each evaluation; what it says is the root `skill` of the action. @throws Refusal */
export async function askSkill(
  { context, rule, evaluationId, cause }: Acting,
  { skill, inputs }: RuleInterpretation,
  roots: RuleRoots,
): Promise<Finding> {
  if (await mayNotWait(context, rule, evaluationId)) return failed(waitingLimit, {});
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

/** What the action reads of the answer. */
export function skillRootOf({ id, status, output, artifactId }: InvocationEnd): JsonObject {
  return { status, output, invocationId: id, artifactId };
}

/** Takes back the call that an evaluation waits for, if it lives still. */
export async function withdrawCall(
  context: Context,
  invocationId: string | null,
  reason: string,
): Promise<void> {
  if (invocationId === null) return;
  await cancelCalls(context, [invocationId], { code: 'cancelled', reason, initiator: 'system' });
}
