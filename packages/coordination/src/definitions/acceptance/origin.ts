import { z } from 'zod';
import { refuseSecretText } from '../../service/documents.ts';
import { fail } from '../errors.ts';
import { Evidence, parseEvidence } from './evidence.ts';
import { parseDocument, withoutNulls } from './parsed-document.ts';

const kinds = ['human', 'harness', 'rule', 'parent', 'process', 'external'] as const;
const ruleIdForm = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$/;

/** The origin of a task, which never changes (docs/reference/definitions.md#origin). */
export const Origin = z.strictObject({
  kind: z.enum(kinds),
  ref: z.string().min(1).max(512).nullish(),
  ruleId: z.string().regex(ruleIdForm).nullish(),
  evidence: z.array(Evidence).max(50).default([]),
});
export type Origin = z.infer<typeof Origin>;

/** An origin in an event, without notes and addresses. */
export const OriginSummary = z.strictObject({
  kind: z.enum(kinds),
  ref: z.string().optional(),
  ruleId: z.string().optional(),
  evidence: z.int(),
});

/**
 * @param field the document's name in the body
 * @throws Refusal `invalid_origin`, `duplicate_evidence`, `secret_material_rejected`
 */
export function parseOrigin(sent: unknown, field = 'origin'): Origin {
  const origin = withoutNulls(parseDocument(Origin, sent, field, 'invalid_origin'));
  const refuse = (member: string, message: string) =>
    fail('invalid_origin', { field: `${field}.${member}`, message });
  if (['parent', 'process', 'external'].includes(origin.kind) && origin.ref == null)
    refuse('ref', 'is required for this kind');
  if ((origin.kind === 'rule') !== (origin.ruleId != null))
    refuse('ruleId', 'is required for the kind rule, and only allowed for it');
  if (origin.kind === 'rule' && origin.evidence.length === 0)
    refuse('evidence', 'is required for the kind rule');
  if (origin.evidence.some(({ check }) => check != null)) refuse('evidence', 'must not specify a check');
  if (origin.ref) refuseSecretText(origin.ref, `${field}.ref`);
  return { ...origin, evidence: parseEvidence(origin.evidence, `${field}.evidence`) };
}

/** The origin of a task that is created without one. */
export function defaultOrigin(parentTaskId: string | undefined, isHuman: boolean): Origin {
  if (parentTaskId !== undefined) return { kind: 'parent', ref: `task:${parentTaskId}`, evidence: [] };
  return { kind: isHuman ? 'human' : 'harness', evidence: [] };
}

export function summarizeOrigin({ kind, ref, ruleId, evidence }: Origin): z.infer<typeof OriginSummary> {
  const isAddress = ref != null && /^[a-z][a-z0-9+.-]*:\/\//i.test(ref);
  return {
    kind,
    ...(ref != null && !isAddress && { ref }),
    ...(ruleId != null && { ruleId }),
    evidence: evidence.length,
  };
}
