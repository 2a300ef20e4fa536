import { canonicalJson } from '@baton/values/canonical-json';
import type { JsonObject } from '@baton/values/wire';
import type { AuthorizationBasis, InvocationRow } from '../../leases/invocations/invocation-row.ts';
import { findSkillByRef } from '../../organisation/skills/skills.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { checkInputs, requireCallable, requireContractRights, writeCall } from './calls.ts';
import type { SkillInvocation } from './invocation.ts';
import { invocationOf } from './invocation.ts';
import { findInvocationOfKey, findNamedInvocation } from './invocations.sql.ts';

/** A call that the core makes itself, in the name of `context.caller`. */
export interface InternalCall {
  /** Of the new call, where whoever asks knows it before. */
  readonly id?: string;
  /** `ref` is the id of what asks: an evaluation of a rule, an attempt of a verification, an approval. */
  readonly requestedBy: {
    readonly kind: Exclude<InvocationRow['requested_by_kind'], 'run'>;
    readonly ref: string;
  };
  /** An id, a name, or `name@version`. */
  readonly skill: string;
  readonly inputs: unknown;
  /** Names the call among those that the core makes for this principal: asked for again, it is the one that there is. */
  readonly idempotencyKey?: string | null;
  /** The task that gets the result as an artifact; in its workspace the events stand. */
  readonly task?: { readonly id: string; readonly workspaceId: string | null } | null;
  /** Of the events, where there is no task. */
  readonly workspaceId?: string | null;
  /** What allows effects outside; without it a skill that has them is refused. */
  readonly basis?: AuthorizationBasis | null;
}

/**
 * Asks for a call of a skill inside of the caller's transaction: work rules, verification, what decisions lead to. Its end
 * stands in the journal (`skill.invocation_succeeded`, `_failed`, `_cancelled`, entity `skill_invocation`) and is read by
 * `getInvocationEnd`. The call lives as long as the credential of `context.caller`.
 * @throws Refusal `not_found`, `skill_not_invocable`, `idempotency_key_required`, `invalid_document`, `payload_too_deep`,
 * `payload_too_large`, `invalid_skill_inputs`, `skill_permission_denied`, `skill_side_effect_not_authorized`,
 * `approval_already_used`, `rate_limited`
 */
export async function requestInvocation(context: Context, asked: InternalCall): Promise<SkillInvocation> {
  const { db, caller } = context;
  const { requestedBy, idempotencyKey = null, task = null } = asked;
  const known = async () =>
    idempotencyKey === null
      ? undefined
      : db.row(findInvocationOfKey(caller.principalId, requestedBy.kind === 'principal', idempotencyKey));
  const earlier = await known();
  if (earlier !== undefined) return invocationOf(earlier);
  const skill = (await findSkillByRef(context, asked.skill)) ?? fail('not_found', { skill: asked.skill });
  requireCallable(skill);
  if (skill.contract.idempotency === 'required' && idempotencyKey === null)
    fail('idempotency_key_required', {}, { status: 400 });
  const { inputs } = asked;
  checkInputs(skill, inputs);
  requireContractRights(context, skill, task === null ? `tenant:${context.tenantId}` : `task:${task.id}`);
  // What allows effects outside is used up by one call: others don't take it.
  const basis = skill.side_effects === 'external_write' ? (asked.basis ?? null) : null;
  if (skill.side_effects === 'external_write' && basis === null) fail('skill_side_effect_not_authorized');
  const place = { taskId: task?.id ?? null, workspaceId: task?.workspaceId ?? asked.workspaceId ?? null };
  const row =
    (await writeCall(context, {
      ...(asked.id !== undefined && { id: asked.id }),
      requestedBy,
      skill,
      inputs,
      idempotencyKey,
      ...place,
      runId: null,
      basis,
    })) ?? (await known());
  if (row !== undefined) return invocationOf(row);
  if (basis?.kind === 'approval') return fail('approval_already_used', { approvalId: basis.approvalId });
  return fail('skill_not_invocable', { reason: 'disabled' });
}

/** How a call ended, or that it lives still. */
export type InvocationEnd = Pick<
  SkillInvocation,
  'id' | 'skillId' | 'status' | 'output' | 'error' | 'artifactId'
> & {
  /** Since it was asked for. */
  readonly ageSeconds: number;
  /** `name@version` */
  readonly skill: string;
};

/** The end of a call that the core asked for; its status is pending or running before. Nothing is locked. */
export async function getInvocationEnd(
  { db, tenantId }: Context,
  invocationId: string,
): Promise<InvocationEnd | undefined> {
  const row = await db.row(findNamedInvocation(tenantId, invocationId));
  if (row === undefined) return undefined;
  return { ...invocationOf(row), skill: `${row.skill}@${row.version}`, ageSeconds: row.age_seconds };
}

/** The first member that an output must have, of just this value, and has not; undefined where it has all. */
export function missesExpected(
  { output }: Pick<InvocationEnd, 'output'>,
  expected: JsonObject = {},
): string | undefined {
  const given = output ?? {};
  return Object.keys(expected).find(
    (name) => !Object.hasOwn(given, name) || canonicalJson(given[name]) !== canonicalJson(expected[name]),
  );
}
