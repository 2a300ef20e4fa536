import { z } from 'zod';
import type { Json } from '@baton/kernel/wire';
import type { Context } from '../context.ts';
import { actionsMax, decisionActionWith, textWith } from './actions.ts';
import { faultInCondition } from './condition.ts';
import { parseSchemaDocument } from './schema-documents.ts';

const gatesMax = 16;
const preconditionsMax = 10;
const gateName = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** What can be known before a decision. */
const rootsBefore = ['task', 'spawnedBy'] as const;
const actions = z.array(decisionActionWith(['task', 'spawnedBy', 'approval'])).max(actionsMax);

/** What must have been observed before a gate is approved. */
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
      const fault = faultInCondition(condition);
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

/** What a task type says about the gates of its tasks (core, section 7.4); `{}` says nothing. */
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
 * Parses `approvalSchema` of a new task type. Skill calls come later: until then no skill is known.
 * @throws Refusal `invalid_approval_schema` {path, reason?}, `invalid_document`, `payload_too_large`,
 * `payload_too_deep`, `secret_material_rejected`
 */
export async function parseApprovalSchema(_: Context, document: unknown): Promise<ApprovalSchema> {
  return parseSchemaDocument(ApprovalSchema, document, 'approvalSchema', 'invalid_approval_schema');
}
