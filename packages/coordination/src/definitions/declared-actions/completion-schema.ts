import { z } from 'zod';
import type { Context } from '../context.ts';
import { actionsMax, completionActionWith, textWith } from './actions.ts';
import { isOneExpression } from './expressions.ts';
import { parseSchemaDocument } from './schema-documents.ts';

const conditionsMax = 8;
const roots = ['task', 'spawnedBy'] as const;

/** The work that the completion of a task creates (docs/reference/completion.md#completion-work); `{}` creates none. */
const CompletionSchema = z.strictObject({
  onComplete: z
    .strictObject({
      /** Expressions that must all have a value; otherwise nothing is done. */
      when: z
        .array(textWith(roots, 500).refine(isOneExpression, 'must be one expression'))
        .max(conditionsMax)
        .optional(),
      actions: z.array(completionActionWith(roots)).max(actionsMax),
    })
    .optional(),
});
export type CompletionSchema = z.output<typeof CompletionSchema>;

/**
 * Parses `completionSchema` of a new task type.
 * @throws Refusal `invalid_completion_schema` {path, reason?}, `invalid_document`, `payload_too_large`,
 * `payload_too_deep`, `secret_material_rejected`
 */
export async function parseCompletionSchema(_: Context, document: unknown): Promise<CompletionSchema> {
  return parseSchemaDocument(CompletionSchema, document, 'completionSchema', 'invalid_completion_schema');
}
