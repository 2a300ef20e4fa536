import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { FreeObject, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import {
  type InvocationRow,
  invocationStatuses,
  requesterKinds,
} from '../../leases/invocations/invocation-row.ts';
import { riskLevels, sideEffectKinds, skillProtocols } from '../../organisation/skills/skill.ts';

export type { InvocationRow };

/** The maximum size of a call's inputs, and of its output, as compact JSON in UTF-8. */
export const payloadBytesMax = 262_144;
/**
 * The maximum size of the stored copy of an output that violates the contract, and of an output that is copied into an
 * artifact.
 */
export const keptOutputBytesMax = 65_536;

const AuthorizationBasis = z.union([
  z.strictObject({ kind: z.literal('approval'), approvalId: Uuid }),
  z.strictObject({ kind: z.literal('execution'), runId: Uuid }),
  z.strictObject({ kind: z.literal('process_step'), instanceId: Uuid, element: z.string() }),
]);
const Cost = z.strictObject({ unit: z.string().min(1).max(50), amount: z.number().min(0) });

/** A call to a skill: leased work with attempts. See docs/reference/skills.md#invocations. */
export const SkillInvocation = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    skillId: Uuid,
    inputs: FreeObject,
    authorityPrincipalId: Uuid,
    authorizationBasis: AuthorizationBasis.nullable().meta({
      description: 'The basis of a call of a skill with external effects.',
    }),
    idempotencyKey: z.string().nullable(),
    status: z.enum(invocationStatuses),
    attempt: z.int().meta({ description: 'The number of times that an executor has claimed the call.' }),
    maxAttempts: z.int(),
    availableAt: Timestamp,
    output: FreeObject.nullable(),
    error: z
      .strictObject({ code: z.string(), message: z.string(), details: FreeObject.optional() })
      .nullable()
      .meta({ description: 'Error of the last failed attempt, or of the call.' }),
    cost: Cost.nullable(),
    fencingToken: z.int(),
    executorPrincipalId: Uuid.nullable(),
    executorSessionId: Uuid.nullable(),
    leaseExpiresAt: Timestamp.nullable(),
    heartbeatAt: Timestamp.nullable(),
    taskId: Uuid.nullable(),
    runId: Uuid.nullable(),
    artifactId: Uuid.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    startedAt: Timestamp.nullable().meta({ description: 'Start of the last attempt.' }),
    finishedAt: Timestamp.nullable(),
    requestedBy: z.strictObject({ kind: z.enum(requesterKinds), ref: z.string() }),
  })
  .meta({ id: 'SkillInvocation' });
export type SkillInvocation = z.infer<typeof SkillInvocation>;

/** The body schema doesn't even check the type, because the document checks have their own error codes. */
const payload = z.unknown().meta({ type: 'object', 'x-maxBytes': payloadBytesMax });
const sessionId = Uuid.nullish();
/** Accepts tokens that were never issued: they are refused as stale. */
const fencingToken = z.int();
const leaseSeconds = z.int().min(1).max(2_147_483_647).nullish();

export const InvocationRequest = z
  .strictObject({
    inputs: payload.default({}),
    idempotencyKey: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .meta({ description: 'Identifies one call of the caller, for as long as the call is stored.' }),
    taskId: Uuid.nullish(),
    runId: Uuid.nullish(),
    approvalId: Uuid.nullish(),
  })
  .meta({ id: 'SkillInvocationRequest' });
export type InvocationRequest = z.output<typeof InvocationRequest>;

const endpoints = (max: number) => z.array(z.string().min(1).max(queryWordCharactersMax)).max(max).nullish();

/** The calls that an executor can execute; an omitted list doesn't restrict them. */
export const InvocationClaim = z
  .strictObject({
    protocols: z.array(z.string().max(queryWordCharactersMax)).min(1).max(10),
    localEntrypoints: endpoints(500),
    httpOrigins: endpoints(100),
    mcpEndpoints: endpoints(100).meta({ description: 'Origins of MCP servers.' }),
    audiences: endpoints(100),
    sessionId,
    leaseSeconds,
    invocationId: Uuid.nullish().meta({ description: 'Claims only this call.' }),
  })
  .meta({ id: 'SkillInvocationClaim' });
export type InvocationClaim = z.output<typeof InvocationClaim>;

/** A claimed call, with the data needed to call the skill. */
export const ClaimedInvocation = z
  .strictObject({
    invocation: SkillInvocation,
    skill: z.strictObject({
      id: Uuid,
      name: z.string(),
      version: z.string(),
      protocol: z.enum(skillProtocols),
      sideEffects: z.enum(sideEffectKinds).nullable(),
      riskLevel: z.enum(riskLevels).nullable(),
      contract: FreeObject,
    }),
  })
  .meta({ id: 'ClaimedSkillInvocation' });
export type ClaimedInvocation = z.infer<typeof ClaimedInvocation>;

export const InvocationHeartbeat = z
  .strictObject({ fencingToken, leaseSeconds, sessionId })
  .meta({ id: 'SkillInvocationHeartbeat' });
export type InvocationHeartbeat = z.output<typeof InvocationHeartbeat>;

export const InvocationResult = z
  .strictObject({ fencingToken, output: payload, cost: Cost.nullish(), sessionId })
  .meta({ id: 'SkillInvocationResult' });
export type InvocationResult = z.output<typeof InvocationResult>;

const failureDetails = z.unknown().meta({ type: 'object', 'x-maxBytes': keptOutputBytesMax });
export const InvocationFailure = z
  .strictObject({
    fencingToken,
    error: z.strictObject({
      code: z
        .string()
        .max(100)
        .regex(/^[a-z0-9][a-z0-9_.-]*$/),
      message: z.string().max(4000),
      retryable: z.boolean().default(false),
      details: failureDetails.nullish(),
    }),
    sessionId,
  })
  .meta({ id: 'SkillInvocationFailure' });
export type InvocationFailure = z.output<typeof InvocationFailure>;

export const InvocationCancel = z
  .strictObject({ reason: z.string().min(1).max(500).default('cancelled') })
  .meta({ id: 'SkillInvocationCancel' });

export const invocationOf = wireMapper<InvocationRow>()(SkillInvocation, {
  requestedBy: ({ requested_by_kind: kind, requested_by_ref: ref }) => ({ kind, ref }),
});
