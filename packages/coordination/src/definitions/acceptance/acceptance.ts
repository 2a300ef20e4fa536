import { z } from 'zod';
import { canonicalJson } from '@baton/values/canonical-json';
import { FreeObject, freeObjectOf, type JsonObject, textsByName, Uuid } from '@baton/values/wire';
import { findPinnedSkills } from '../../organisation/skills/skills.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { isMediaTypeRange } from '../artifact-types/artifact-type.ts';
import type { Context } from '../context.ts';
import { findTextFault, isOneExpression } from '../declared-actions/expressions.ts';
import { fail } from '../errors.ts';
import { findArtifactTypeKeys } from './acceptance.sql.ts';
import { withoutAuthor } from './author.ts';
import { parseDocument, withoutNulls } from './parsed-document.ts';

export const acceptanceChecksMax = 50;
export const checkSpecBytesMax = 16_384;

const conditionCharactersMax = 500;
const isCondition = (text: string) =>
  isOneExpression(text) && findTextFault(text, ['task', 'spawnedBy']) === undefined;

export const checkKeyForm = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const kinds = ['deterministic', 'external_state', 'human', 'llm_judge'] as const;

/** A condition for completing a task (docs/reference/definitions.md#acceptance-checks). */
export const AcceptanceCheck = z.strictObject({
  key: z.string().regex(checkKeyForm),
  kind: z.enum(kinds),
  description: z.string().min(1).max(2000),
  spec: freeObjectOf(checkSpecBytesMax).nullish(),
  when: z
    .array(
      z
        .string()
        .max(conditionCharactersMax)
        .refine(isCondition, 'must be one expression of the roots task and spawnedBy')
        .meta({ examples: ['$.task.priority'] }),
    )
    .min(1)
    .max(8)
    .nullish(),
});
export type AcceptanceCheck = z.infer<typeof AcceptanceCheck>;

/** A check of a task, with the principal that last added or changed it; null if unknown. */
export const TaskCheck = AcceptanceCheck.extend({ addedByPrincipalId: Uuid.nullable() });
/** A check as stored with its task. */
export type TaskCheck = AcceptanceCheck & { addedByPrincipalId?: string | null };

/** Accepts a check as a client has read it; the service sets the author. */
export const SentCheck = AcceptanceCheck.extend({
  addedByPrincipalId: z.string().max(64).nullish().meta({ description: 'Ignored: the service sets it.' }),
});

const skillRef = /^[^@\s][^@]{0,199}@[^@\s]{1,50}$/;
const approval = { approver: Uuid.optional(), approverRole: Uuid.optional() };

const deterministicSpec = z.union([
  z.strictObject({
    skill: z.string().regex(skillRef),
    inputs: z
      .union([z.string().max(16_384), textsByName(z.string().max(16_384), z.string().max(16_384), 1000)])
      .optional(),
    expect: FreeObject.optional(),
  }),
  z.strictObject({
    artifact: z.strictObject({
      type: z.string().min(1).max(200),
      mediaTypes: z.array(z.string().refine(isMediaTypeRange)).min(1).max(50).optional(),
      content: z.enum(['required', 'optional']).optional(),
    }),
  }),
]);

const specOf: Record<AcceptanceCheck['kind'], z.ZodType> = {
  deterministic: deterministicSpec,
  external_state: z.strictObject({
    event: z.string().min(1).max(200).optional(),
    prover: z.union([z.strictObject({ principalId: Uuid }), z.strictObject({ roleId: Uuid })]).optional(),
  }),
  human: z.strictObject(approval),
  llm_judge: z.strictObject({ ...approval, rubric: z.string().min(1).max(2000).optional() }),
};

/**
 * Parses the acceptance checks of a task.
 * @param typeKeys keys of the checks that the task's type defines
 * @throws Refusal `invalid_acceptance`, `invalid_acceptance_spec`, `duplicate_check_key`, `payload_too_large`,
 * `payload_too_deep`, `secret_material_rejected`
 */
export function parseAcceptance(sent: readonly unknown[], typeKeys: readonly string[]): AcceptanceCheck[] {
  const checks = sent.map((item, index) => {
    const field = `acceptance[${index}]`;
    const check = withoutNulls(parseDocument(AcceptanceCheck, readBack(item), field, 'invalid_acceptance'));
    if (check.key.startsWith('output.'))
      fail('invalid_acceptance', { field: `${field}.key`, message: 'output. is reserved' });
    if (typeKeys.includes(check.key))
      fail('invalid_acceptance', { field: `${field}.key`, message: 'the task type has a check of this key' });
    refuseSecretText(check.description, `${field}.description`);
    checkSpec(check.kind, check.spec ?? {}, `${field}.spec`);
    return check;
  });
  const duplicate = checks.find(({ key }, index) => checks.findIndex((other) => other.key === key) !== index);
  if (duplicate !== undefined) fail('duplicate_check_key', { key: duplicate.key });
  return checks;
}

/** Removes the author, which a check that was read from a task contains, and which is ignored when it is sent again. */
function readBack(sent: unknown): unknown {
  return typeof sent === 'object' && sent !== null && !Array.isArray(sent) ? withoutAuthor(sent) : sent;
}

function checkSpec(kind: AcceptanceCheck['kind'], spec: JsonObject, field: string): void {
  checkDocument(spec, { field, bytesMax: checkSpecBytesMax });
  refuseSecretKeys(spec, field);
  if (!specOf[kind].safeParse(spec).success) fail('invalid_acceptance_spec', { field, kind });
  if (spec['approver'] !== undefined && spec['approverRole'] !== undefined)
    fail('invalid_acceptance_spec', { field, kind });
  if (typeof spec['rubric'] === 'string') refuseSecretText(spec['rubric'], `${field}.rubric`);
  const inputs = typeof spec['inputs'] === 'object' ? Object.values(spec['inputs'] ?? {}) : [spec['inputs']];
  const isOfTask = (text: unknown) => typeof text !== 'string' || findTextFault(text, ['task']) === undefined;
  if (!inputs.every(isOfTask)) fail('invalid_acceptance_spec', { field, kind });
}

/**
 * Looks up the skills and the artifact types of checks.
 * @param field the checks' position in the body
 * @throws Refusal `invalid_acceptance_spec` for an unregistered skill or type, for a skill that can't be called, and
 * for a skill with external effects without an earlier check that a person decides
 */
export async function requireSubjectsOfChecks(
  context: Context,
  checks: readonly AcceptanceCheck[],
  field = 'acceptance',
): Promise<void> {
  await requireSkillsOfChecks(context, checks, field);
  const { db, tenantId } = context;
  const typeOf = ({ spec }: AcceptanceCheck) => (spec?.['artifact'] as { type: string } | undefined)?.type;
  const asked = checks.map(typeOf).filter((type) => type !== undefined);
  if (asked.length === 0) return;
  const known = new Set((await db.rows(findArtifactTypeKeys(tenantId, asked))).map(({ key }) => key));
  for (const [index, check] of checks.entries()) {
    const type = typeOf(check);
    if (type !== undefined && !known.has(type))
      fail('invalid_acceptance_spec', { field: `${field}[${index}].spec`, kind: check.kind });
  }
}

/** The skill that evaluates a check, as `name@version`; undefined for other checks. */
export function skillOfCheck({ spec }: AcceptanceCheck): string | undefined {
  return spec?.['skill'] as string | undefined;
}

/** Whether a person decides a check, and so can allow the external effects of later checks with the same condition. */
export function mayAllowEffects(earlier: AcceptanceCheck, check: AcceptanceCheck): boolean {
  const isOfPerson = earlier.kind === 'human' || earlier.kind === 'llm_judge';
  return isOfPerson && canonicalJson(earlier.when ?? null) === canonicalJson(check.when ?? null);
}

async function requireSkillsOfChecks(
  context: Context,
  checks: readonly AcceptanceCheck[],
  field: string,
): Promise<void> {
  const known = await findPinnedSkills(
    context,
    checks.flatMap((check) => skillOfCheck(check) ?? []),
  );
  for (const [index, check] of checks.entries()) {
    const ref = skillOfCheck(check);
    if (ref === undefined) continue;
    const refuse = (reason: string) =>
      fail('invalid_acceptance_spec', { field: `${field}[${index}].spec`, kind: check.kind, reason });
    const skill = known.get(ref);
    if (skill === undefined) return refuse('not_found');
    if (skill.obstacle !== undefined) return refuse(skill.obstacle);
    const isAllowed = checks.slice(0, index).some((earlier) => mayAllowEffects(earlier, check));
    if (skill.sideEffects === 'external_write' && !isAllowed) return refuse('external_write_unapproved');
  }
}
