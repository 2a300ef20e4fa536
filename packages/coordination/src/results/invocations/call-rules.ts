import { BoundedCache } from '@baton/values/bounded-cache';
import { measureDocument } from '@baton/values/document-size';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { type PreparedSchema, prepareSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { snapshotOf } from '../../access/authn/credential-snapshot.ts';
import { isDecidedHere } from '../../access/policy/catalogue.ts';
import type { AuthorizationBasis, InvocationRow } from '../../leases/invocations/invocation-row.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { SkillRow } from '../../organisation/skills/skill.ts';
import type { SkillContract } from '../../organisation/skills/skill-contract.ts';
import { findObstacleToCall } from '../../organisation/skills/skills.ts';
import { checkDocument } from '../../service/documents.ts';
import { holds, type Permission, permissionNames } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { payloadBytesMax } from './invocation.ts';
import { invocationRequested } from './invocations.events.ts';
import { hasPendingCalls, insertInvocation } from './invocations.sql.ts';

/** The `Retry-After` of `rate_limited`: executors claim pending calls in the meantime. */
const retryAfterSeconds = 5;

/** A callable skill. */
export type CallableSkill = SkillRow & { contract: SkillContract };

/** @throws Refusal `skill_not_invocable` with `reason` disabled, protocol_not_invocable or no_contract */
export function requireCallable(skill: SkillRow): asserts skill is CallableSkill {
  const reason = findObstacleToCall(skill);
  if (reason !== undefined) fail('skill_not_invocable', { reason });
}

/**
 * Validates inputs against the contract, formats included, before their size. See docs/reference/skills.md#invoke.
 * @throws Refusal `invalid_document`, `payload_too_deep`, `payload_too_large`, `invalid_skill_inputs` {errors ≤20}
 */
export function checkInputs(skill: CallableSkill, inputs: unknown): asserts inputs is JsonObject {
  const field = 'inputs';
  checkDocument(inputs, { field, bytesMax: Number.POSITIVE_INFINITY });
  const errors = schemaOf(skill, 'inputs').faultsOf(inputs);
  if (errors.length > 0) fail('invalid_skill_inputs', { errors });
  const { bytes } = measureDocument(inputs);
  if (bytes > payloadBytesMax)
    fail('payload_too_large', { field, maxBytes: payloadBytesMax, actualBytes: bytes });
}

/**
 * @param resource the resource of the permission check, as `task:<id>` or `tenant:<id>`
 * @throws Refusal `skill_permission_denied` {missing, resource}
 */
export function requireContractRights(
  { caller }: Context,
  { contract }: CallableSkill,
  resource: string,
): void {
  const missing = contract.requiredPermissions.filter((name) => !holds(caller.permissions, name));
  if (missing.length > 0) fail('skill_permission_denied', { missing, resource });
}

/**
 * The permissions that a binding grants without the decision point; null without a decision point, in which case all of
 * them count.
 */
export function namesOfBindings({ authorities }: Context): readonly Permission[] | null {
  return authorities === undefined ? null : permissionNames.filter(isDecidedHere);
}

export interface Call {
  readonly id?: string;
  readonly requestedBy: { readonly kind: InvocationRow['requested_by_kind']; readonly ref: string };
  readonly skill: CallableSkill;
  readonly inputs: JsonObject;
  readonly idempotencyKey: string | null;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly workspaceId: string | null;
  readonly basis: AuthorizationBasis | null;
}

/**
 * Stores a call on behalf of the caller and writes its event.
 * @returns undefined if another call has used the key or the basis in the meantime, or the skill has been disabled
 * @throws Refusal `rate_limited` if CP_SKILL_INVOCATIONS_PENDING_MAX calls of the tenant are pending
 */
export async function writeCall(context: Context, call: Call): Promise<InvocationRow | undefined> {
  const { db, tenantId, caller } = context;
  const { skill, requestedBy, basis } = call;
  const { retryPolicy, timeoutSeconds } = skill.contract;
  const pendingMax = context.settings.CP_SKILL_INVOCATIONS_PENDING_MAX;
  if ((await db.row(hasPendingCalls(tenantId, pendingMax)))?.has === true)
    fail('rate_limited', { retryAfterSeconds }, { headers: { 'retry-after': String(retryAfterSeconds) } });
  const row = await db.row(
    insertInvocation({
      ...call,
      id: call.id ?? newId(),
      tenantId,
      skillId: skill.id,
      authorityPrincipalId: caller.principalId,
      credential: snapshotOf(caller),
      timeoutSeconds,
      ...retryPolicy,
    }),
  );
  if (row === undefined) return undefined;
  emit(
    context,
    invocationRequested,
    { entityId: row.id, workspaceId: row.workspace_id },
    {
      skillId: skill.id,
      skill: eventText(skill.name),
      version: skill.version,
      sideEffects: skill.side_effects,
      riskLevel: skill.risk_level,
      requestedBy: { ...requestedBy },
      taskId: row.task_id,
      runId: row.run_id,
      authorizationBasis: basis === null ? null : { ...basis },
    },
  );
  return row;
}

/** The total size of the schemas in bytes; a compiled schema takes 20 times as much memory: 40 MB. */
const keptBytesMax = 2_097_152;
const prepared = new BoundedCache<PreparedSchema>(keptBytesMax);

/**
 * The schema of a skill's inputs or outputs. It never changes, so it is compiled once per process. Formats are
 * asserted.
 */
export function schemaOf({ id, contract }: CallableSkill, side: 'inputs' | 'outputs'): PreparedSchema {
  const name = `${id}/${side}`;
  const known = prepared.get(name);
  if (known !== undefined) return known;
  const schema = prepareSchema(contract[side], { formats: 'assert' });
  prepared.keep(name, schema, JSON.stringify(contract[side]).length);
  return schema;
}
