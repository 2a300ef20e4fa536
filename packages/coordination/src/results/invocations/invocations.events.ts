import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';
import { requesterKinds } from '../../leases/invocations/invocation-row.ts';
import { riskLevels, sideEffectKinds } from '../../organisation/skills/skill.ts';

/** The events of a call never contain its inputs, its output or the details of an error. */

const skill = { skillId: Uuid, skill: z.string(), version: z.string() };
const about = { taskId: Uuid.nullable(), runId: Uuid.nullable() };
const error = z.strictObject({ code: z.string(), message: z.string() });

export const invocationRequested = defineEvent(
  'skill.invocation_requested',
  'skill_invocation',
  z.strictObject({
    ...skill,
    sideEffects: z.enum(sideEffectKinds).nullable(),
    riskLevel: z.enum(riskLevels).nullable(),
    requestedBy: z.strictObject({ kind: z.enum(requesterKinds), ref: z.string() }),
    ...about,
    authorizationBasis: z
      .strictObject({
        kind: z.string(),
        approvalId: Uuid.optional(),
        runId: Uuid.optional(),
        instanceId: Uuid.optional(),
        element: z.string().optional(),
      })
      .nullable(),
  }),
);

/** Stored in the journal, but not delivered to sinks. */
export const invocationClaimed = defineEvent(
  'skill.invocation_claimed',
  'skill_invocation',
  z.strictObject({ skillId: Uuid, attempt: z.int(), fencingToken: z.int(), leaseExpiresAt: Timestamp }),
);

export const invocationRetryScheduled = defineEvent(
  'skill.invocation_retry_scheduled',
  'skill_invocation',
  z.strictObject({
    skillId: Uuid,
    attempt: z.int(),
    maxAttempts: z.int(),
    availableAt: Timestamp,
    error,
  }),
);

export const invocationSucceeded = defineEvent(
  'skill.invocation_succeeded',
  'skill_invocation',
  z.strictObject({
    ...skill,
    attempt: z.int(),
    ...about,
    artifactId: Uuid.nullable(),
    cost: z.strictObject({ unit: z.string(), amount: z.number() }).nullable(),
  }),
);

export const invocationFailed = defineEvent(
  'skill.invocation_failed',
  'skill_invocation',
  z.strictObject({ ...skill, attempt: z.int(), maxAttempts: z.int(), ...about, error }),
);
