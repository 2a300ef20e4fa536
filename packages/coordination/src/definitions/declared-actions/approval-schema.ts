import { z } from 'zod';
import type { Json } from '@baton/values/wire';
import { findObstacleToCall, findSkillByRef } from '../../organisation/skills/skills.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { actionsMax, decisionActionWith, textWith } from './actions.ts';
import { findConditionFault } from './condition.ts';
import { parseSchemaDocument } from './schema-documents.ts';

const gatesMax = 16;
const preconditionsMax = 10;
const gateName = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** The roots with values that are known before a decision. */
const rootsBefore = ['task', 'spawnedBy'] as const;
const actions = z.array(decisionActionWith(['task', 'spawnedBy', 'approval'])).max(actionsMax);

/** An observation that is required before a gate is approved. */
const Precondition = z.strictObject({
  observation: z.strictObject({
    kind: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,127}$/),
    source: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._:/-]{0,127}$/)
      .optional(),
    task: textWith(rootsBefore, 500).optional(),
    externalRef: z
      .strictObject({ system: textWith(rootsBefore, 128), id: textWith(rootsBefore, 512) })
      .optional(),
  }),
  condition: z
    .custom<Json>()
    .superRefine((condition, context) => {
      const fault = findConditionFault(condition);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .optional(),
  reason: z.string().min(1).max(1000),
});

export type Precondition = z.output<typeof Precondition>;

const Gate = z.strictObject({
  preconditions: z
    .strictObject({ approved: z.array(Precondition).max(preconditionsMax).optional() })
    .optional(),
  outcomes: z.strictObject({ approved: actions.optional(), rejected: actions.optional() }),
});

export type DeclaredGate = z.output<typeof Gate>;

/**
 * The rules of a task type for the gates of its tasks (docs/reference/definitions.md#declared-actions); `{}` declares
 * none.
 */
const ApprovalSchema = z.strictObject({
  gates: z
    .custom<Record<string, unknown>>(
      (gates) => !Object.hasOwn(Object(gates), '__proto__'),
      'has a malformed name',
    )
    .refine((gates) => Object.keys(Object(gates)).length <= gatesMax, `has at most ${gatesMax} gates`)
    .pipe(z.record(z.string().regex(gateName), Gate))
    .optional(),
});
export type ApprovalSchema = z.output<typeof ApprovalSchema>;

/**
 * Parses `approvalSchema` of a task type.
 * @throws Refusal `invalid_approval_schema` {path}, `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`
 */
export async function parseApprovalSchema(_: Context, document: unknown): Promise<ApprovalSchema> {
  return parseSchemaDocument(ApprovalSchema, document, 'approvalSchema', 'invalid_approval_schema');
}

/**
 * Looks up the skills that decisions call. One with external effects must be pinned, and can't follow a rejection.
 * @throws Refusal `invalid_approval_schema` {path, reason}: not_found, disabled, no_contract, protocol_not_invocable,
 * external_write_not_pinned, external_write_on_rejected
 */
export async function requireSkillsOfGates(context: Context, { gates = {} }: ApprovalSchema): Promise<void> {
  for (const [gate, { outcomes }] of Object.entries(gates))
    for (const outcome of ['approved', 'rejected'] as const)
      for (const [index, action] of (outcomes[outcome] ?? []).entries()) {
        const reason =
          'invokeSkill' in action ? await faultInCall(context, action.invokeSkill.skill, outcome) : undefined;
        const path = `/gates/${gate}/outcomes/${outcome}/${index}/invokeSkill/skill`;
        if (reason !== undefined) fail('invalid_approval_schema', { field: 'approvalSchema', path, reason });
      }
}

async function faultInCall(
  context: Context,
  ref: string,
  outcome: 'approved' | 'rejected',
): Promise<string | undefined> {
  const skill = await findSkillByRef(context, ref);
  if (skill === undefined) return 'not_found';
  const obstacle = findObstacleToCall(skill);
  if (obstacle !== undefined || skill.side_effects !== 'external_write') return obstacle;
  if (!ref.includes('@')) return 'external_write_not_pinned';
  return outcome === 'rejected' ? 'external_write_on_rejected' : undefined;
}
