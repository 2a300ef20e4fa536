import { canonicalJson } from '@baton/values/canonical-json';
import type { JsonObject } from '@baton/values/wire';
import type { AuthorizationBasis, InvocationRow } from '../../leases/invocations/invocation-row.ts';
import { findSkillByRef } from '../../organisation/skills/skills.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { checkInputs, requireCallable, requireContractRights, writeCall } from './call-rules.ts';
import type { SkillInvocation } from './invocation.ts';
import { invocationOf } from './invocation.ts';
import { findInvocationOfKey, findNamedInvocation } from './invocations.sql.ts';

/** A call that the core requests on behalf of `context.caller`. */
export interface InternalCall {
  /** The id of the new call, if the requester has already chosen it. */
  readonly id?: string;
  /**
   * `ref` is the id of the origin: of an evaluation of a rule, an attempt of a verification, or an approval.
   */
  readonly requestedBy: {
    readonly kind: Exclude<InvocationRow['requested_by_kind'], 'run'>;
    readonly ref: string;
  };
  /** An id, a name, or `name@version`. */
  readonly skill: string;
  readonly inputs: unknown;
  /**
   * Identifies the call among those that the core requests for this principal: a repeated request returns the existing
   * call.
   */
  readonly idempotencyKey?: string | null;
  /** The task that gets the result as an artifact; its workspace gets the events. */
  readonly task?: { readonly id: string; readonly workspaceId: string | null } | null;
  /** The workspace of the events for a call without a task. */
  readonly workspaceId?: string | null;
  /** The basis for external effects; required for a skill that has them. */
  readonly basis?: AuthorizationBasis | null;
}

/**
 * Requests a call of a skill in the caller's transaction, for work rules, verification, and outcomes of decisions. Its
 * end is in the journal (`skill.invocation_succeeded`, `_failed`, `_cancelled`, entity `skill_invocation`) and in
 * `getInvocationEnd`. The call lives as long as the credential of `context.caller`.
 * @throws Refusal `not_found`, `skill_not_invocable`, `idempotency_key_required`, `invalid_document`,
 * `payload_too_deep`, `payload_too_large`, `invalid_skill_inputs`, `skill_permission_denied`,
 * `skill_side_effect_not_authorized`, `approval_already_used`, `rate_limited`
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
  // Only a call with external effects uses the basis; other calls must not use it up.
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

/** How a call ended, or its current status. */
export type InvocationEnd = Pick<
  SkillInvocation,
  'id' | 'skillId' | 'status' | 'output' | 'error' | 'artifactId'
> & {
  /** Seconds since the request. */
  readonly ageSeconds: number;
  /** `name@version` */
  readonly skill: string;
};

/** The end of a call that the core requested; before that, its status is pending or running. Takes no lock. */
export async function getInvocationEnd(
  { db, tenantId }: Context,
  invocationId: string,
): Promise<InvocationEnd | undefined> {
  const row = await db.row(findNamedInvocation(tenantId, invocationId));
  if (row === undefined) return undefined;
  return { ...invocationOf(row), skill: `${row.skill}@${row.version}`, ageSeconds: row.age_seconds };
}

/** The first required member that is missing from an output or has another value; undefined if all match. */
export function missesExpected(
  { output }: Pick<InvocationEnd, 'output'>,
  expected: JsonObject = {},
): string | undefined {
  const given = output ?? {};
  return Object.keys(expected).find(
    (name) => !Object.hasOwn(given, name) || canonicalJson(given[name]) !== canonicalJson(expected[name]),
  );
}
