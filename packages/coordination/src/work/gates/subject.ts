import { z } from 'zod';
import { canonicalJson } from '@baton/values/canonical-json';
import { measureDocument } from '@baton/values/document-size';
import { FreeObject, type Json, type JsonObject, Timestamp } from '@baton/values/wire';
import { mayAllowEffects, skillOfCheck, TaskCheck } from '../../definitions/acceptance/acceptance.ts';
import type { DecisionAction } from '../../definitions/declared-actions/actions.ts';
import type { Expression, Lookup } from '../../definitions/declared-actions/expressions.ts';
import {
  type ExpressionValues,
  expressionsIn,
  fillActions,
  findValues,
} from '../../definitions/declared-actions/filled-actions.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { findPinnedSkills } from '../../organisation/skills/skills.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import type { Context } from '../context.ts';
import { checksOf } from '../verifications/attempts.ts';
import { type ArtifactOfSubject, findArtifactsOfSubjects, findEvaluatedChecks } from './subjects.sql.ts';

/** The largest snapshot shown to a person, as compact JSON in UTF-8. */
export const subjectBytesMax = 65_536;

/** The fields of a task that a decider sees. */
const TaskSnapshot = z.strictObject({
  title: z.string(),
  description: z.string(),
  typeKey: z.string(),
  typeVersion: z.int(),
  priority: z.enum(['critical', 'high', 'medium', 'low']),
  startDate: Timestamp.nullable(),
  dueDate: Timestamp.nullable(),
  customFields: FreeObject,
  acceptance: z.array(TaskCheck),
});

/** The data that a decider sees. */
export const SubjectSnapshot = z
  .strictObject({
    task: TaskSnapshot.nullable(),
    artifact: z
      .strictObject({ type: z.string(), name: z.string(), digest: z.string().nullable() })
      .nullable(),
    outcome: z
      .strictObject({ approved: z.array(FreeObject), rejected: z.array(FreeObject) })
      .nullable()
      .meta({
        description:
          "The actions that the task's type declares for the decision, with resolved inputs, and the calls with " +
          'external effects that later checks of the verification make after it. Expressions of `$.approval` and ' +
          '`$.invocation` remain unresolved until then. Null if nothing is declared.',
      }),
  })
  .meta({ id: 'ApprovalSubjectSnapshot' });
export type SubjectSnapshot = z.infer<typeof SubjectSnapshot>;

/** A subject as stored with its digest. */
export interface StoredSubject {
  readonly taskVersion: number | null;
  readonly artifactSha256: string | null;
  readonly snapshot: SubjectSnapshot;
  /** The values of those expressions in the outcome's actions that are known before the decision. */
  readonly values: ExpressionValues;
}

export interface Subject extends StoredSubject {
  /** Hash of the snapshot as canonical JSON: `sha256:<hex>`. */
  readonly digest: string;
}

/** The current subject of a decision. */
export interface PresentSubject {
  /** Undefined if the snapshot exceeds `subjectBytesMax` and so can't be shown. */
  readonly subject: Subject | undefined;
  /** The values that are compared with those of an earlier subject. */
  readonly fields: Readonly<Record<string, Json>>;
}

export interface TaskOfSubject extends z.infer<typeof TaskSnapshot> {
  readonly id: string;
  readonly publicId: string;
  readonly typeId: string;
  readonly version: number;
  /** Resolves these expressions; undefined if the values are too large to be shown to a person. */
  lookupFor(expressions: readonly Expression[]): Promise<Lookup | undefined>;
}

/** The objects of a decision. */
interface SubjectOf {
  readonly task: TaskOfSubject | null;
  readonly artifact: ArtifactOfSubject | null;
  /** Types declare outcomes for gates only. */
  readonly gate: boolean;
  readonly check: CheckOfSubject | null;
}

/** The check of a verification for which an approval is requested. */
export interface CheckOfSubject {
  readonly verificationId: string;
  readonly key: string;
}

export function checkOfApproval(approval: {
  readonly verification_id: string | null;
  readonly check_key: string | null;
}): CheckOfSubject | null {
  const { verification_id: verificationId, check_key: key } = approval;
  return verificationId === null || key === null ? null : { verificationId, key };
}

/** The artifact of a subject; null without one. Artifacts are immutable. */
export async function findArtifactOfSubject(
  context: Context,
  artifactId: string | null,
): Promise<ArtifactOfSubject | null> {
  if (artifactId === null) return null;
  return (await findArtifactsOf(context, [artifactId]))[0] ?? null;
}

/** Reads these artifacts, in no particular order. */
export async function findArtifactsOf(
  { db, tenantId }: Context,
  ids: readonly string[],
): Promise<readonly ArtifactOfSubject[]> {
  return ids.length === 0 ? [] : db.rows(findArtifactsOfSubjects(tenantId, ids));
}

/** Takes the snapshot that a decider sees. The caller holds the task's lock if the subject must not change. */
export async function takeSubjectSnapshot(context: Context, of: SubjectOf): Promise<PresentSubject> {
  const task = of.task && shownTask(of.task);
  const artifact = of.artifact && shownArtifact(of.artifact);
  const filled = await resolveOutcome(context, of);
  const fields = { ...task, artifact, outcome: filled === undefined ? tooLarge : filled.outcome } as Record<
    string,
    Json
  >;
  if (filled === undefined) return { subject: undefined, fields };
  const snapshot = { task, artifact, outcome: filled.outcome };
  if (measureDocument(snapshot).bytes > subjectBytesMax) return { subject: undefined, fields };
  const digest = snapshotDigest(snapshot);
  const about = { taskVersion: of.task?.version ?? null, artifactSha256: of.artifact?.sha256 ?? null };
  return { subject: { ...about, digest, snapshot, values: filled.values }, fields };
}

/** `sha256:<hex>` of the canonical JSON of a snapshot. */
export function snapshotDigest(snapshot: SubjectSnapshot): string {
  return canonicalHash(snapshot, { fractions: 'allowed' });
}

/** The fields of an earlier subject whose values have changed; all of them if no subject was recorded. */
export function changedFields(
  recorded: Pick<StoredSubject, 'snapshot'> | null,
  { fields }: PresentSubject,
): string[] {
  if (recorded === null) return Object.keys(fields);
  const { task, artifact, outcome } = recorded.snapshot;
  const before: Record<string, unknown> = { ...task, artifact, outcome };
  return Object.keys(fields).filter((name) => canonicalJson(before[name]) !== canonicalJson(fields[name]));
}

const tooLarge: JsonObject = { tooLarge: true };

function shownTask(task: TaskOfSubject): NonNullable<SubjectSnapshot['task']> {
  const { title, description, typeKey, typeVersion, priority, startDate, dueDate } = task;
  const { customFields, acceptance } = task;
  return {
    title,
    description,
    typeKey,
    typeVersion,
    priority,
    startDate,
    dueDate,
    customFields,
    acceptance,
  };
}

function shownArtifact({ type, name, sha256 }: ArtifactOfSubject): SubjectSnapshot['artifact'] {
  return { type, name, digest: sha256 === null ? null : `sha256:${sha256}` };
}

/** The declared outcome of the decision with resolved inputs; undefined if it is too large to be shown. */
async function resolveOutcome(
  context: Context,
  { task, gate, check }: SubjectOf,
): Promise<{ outcome: SubjectSnapshot['outcome']; values: ExpressionValues } | undefined> {
  const rules = gate && task !== null ? await rulesOf(context, task.typeId) : undefined;
  const declared = rules?.approvalSchema.gates?.['default']?.outcomes;
  const calls = check === null || task === null ? [] : await callsAfter(context, task, check);
  const [approved, rejected] = [[...(declared?.approved ?? []), ...calls], declared?.rejected ?? []];
  if (task === null || approved.length + rejected.length === 0) return { outcome: null, values: {} };
  const actions = [...approved, ...rejected];
  const lookup = await task.lookupFor(expressionsIn(actions));
  const values = lookup && (await findValues(actions, lookup, subjectBytesMax));
  if (values === undefined) return undefined;
  const shown = {
    approved: fillActions(approved, values, subjectBytesMax),
    rejected: fillActions(rejected, values, subjectBytesMax),
  };
  if (shown.approved === undefined || shown.rejected === undefined) return undefined;
  return { outcome: { approved: shown.approved, rejected: shown.rejected }, values };
}

/** The calls with external effects that later checks make after a person has approved this check. */
async function callsAfter(
  context: Context,
  { typeId, acceptance }: TaskOfSubject,
  { verificationId, key }: CheckOfSubject,
): Promise<DecisionAction[]> {
  const attempt = await context.db.row(findEvaluatedChecks(context.tenantId, verificationId));
  const kept = attempt?.checks ?? [];
  const known = new Set(kept.map(canonicalJson));
  const rules = await rulesOf(context, typeId);
  // Checks that are added while an attempt is open are evaluated by that attempt, too.
  const added = checksOf(rules, { acceptance }).filter((check) => !known.has(canonicalJson(check)));
  const checks = [...kept, ...added];
  const at = checks.findIndex((check) => check.key === key && skillOfCheck(check) === undefined);
  const asked = checks[at];
  if (asked === undefined) return [];
  const allowed = checks.slice(at + 1).filter((later) => mayAllowEffects(asked, later));
  const refs = allowed.flatMap((later) => skillOfCheck(later) ?? []);
  const skills = await findPinnedSkills(context, refs);
  return allowed.flatMap((later): DecisionAction[] => {
    const skill = skillOfCheck(later) ?? '';
    if (skills.get(skill)?.sideEffects !== 'external_write') return [];
    return [{ invokeSkill: { skill, inputs: (later.spec?.['inputs'] ?? {}) as JsonObject } }];
  });
}

/**
 * Whether a call of this skill, by `name@version`, was shown to the decider; if inputs are given, whether exactly this
 * call was.
 */
export function showsCall({ snapshot }: StoredSubject, skill: string, inputs?: Json): boolean {
  return (snapshot.outcome?.approved ?? []).some((action) => {
    const shown = action['invokeSkill'] as JsonObject | undefined;
    if (shown === undefined || shown['skill'] !== skill) return false;
    return inputs === undefined || canonicalJson(shown['inputs'] ?? {}) === canonicalJson(inputs);
  });
}
