import { canonicalJson } from '@baton/values/canonical-json';
import type { JsonObject } from '@baton/values/wire';
import type { AcceptanceCheck, TaskCheck } from '../../../definitions/acceptance/acceptance.ts';
import { withoutAuthor } from '../../../definitions/acceptance/author.ts';
import type { Evidence, TaskEvidence } from '../../../definitions/acceptance/evidence.ts';
import type { Lookup } from '../../../definitions/declared-actions/expressions.ts';
import { allHaveValues, fieldOf } from '../../../definitions/declared-actions/task-values.ts';
import type { TypeRules } from '../../../definitions/task-types/type-rules.ts';
import { findLiveClaim } from '../../../leases/gate.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { hasRunOf } from './protection.sql.ts';

/** A requirement of a task that a change would remove. */
export interface RemovedRequirement {
  readonly key: string;
  /** The principal that added the requirement; null if unknown. */
  readonly addedBy: string | null;
}

/**
 * Refuses the removal of a task's requirements, except by their author or by a person, and always by a principal that
 * works on the task or had a run of it. The task must be locked.
 * @throws Refusal `acceptance_protected` {keys}
 */
export async function requireMayRemove(
  context: Context,
  taskId: string,
  taken: readonly RemovedRequirement[],
): Promise<void> {
  if (taken.length === 0) return;
  const { db, tenantId, caller } = context;
  const isWorker =
    (await findLiveClaim(context, taskId))?.holder_id === caller.principalId ||
    (await db.row(hasRunOf(tenantId, taskId, caller.principalId)))?.had === true;
  refuseRemoval(context, taken, isWorker);
}

/**
 * Like `requireMayRemove`, if it is already known whether the caller works on the task or had a run of it.
 * @throws Refusal `acceptance_protected` {keys}
 */
export function refuseRemoval(
  { caller }: Pick<Context, 'caller'>,
  taken: readonly RemovedRequirement[],
  isWorker: boolean,
): void {
  const isForeign = ({ addedBy }: RemovedRequirement) =>
    caller.kind !== 'human' && addedBy !== caller.principalId;
  const keys = taken.filter((one) => isWorker || isForeign(one)).map(({ key }) => key);
  if (keys.length > 0) fail('acceptance_protected', { keys: [...new Set(keys)] });
}

/** The keys of the checks that a change removes or modifies. */
export function findRemovedChecks(
  before: readonly TaskCheck[],
  after: readonly AcceptanceCheck[],
): RemovedRequirement[] {
  const kept = new Map(after.map((check) => [check.key, contentOf(check)]));
  return before
    .filter((check) => kept.get(check.key) !== contentOf(check))
    .map(({ key, addedByPrincipalId }) => ({ key, addedBy: addedByPrincipalId ?? null }));
}

function contentOf(check: TaskCheck): string {
  return canonicalJson(withoutAuthor(check));
}

/** The checks as they are stored: new or modified checks get the author, unchanged ones keep theirs. */
export function withAuthors(
  before: readonly TaskCheck[],
  after: readonly AcceptanceCheck[],
  author: string,
): TaskCheck[] {
  const stored = new Map(before.map((check) => [check.key, check]));
  return after.map((check) => {
    const known = stored.get(check.key);
    if (known !== undefined && contentOf(known) === contentOf(check)) return known;
    return { ...check, addedByPrincipalId: author };
  });
}

/**
 * Merges evidence in the same way: an item that differs in any way, even only in its note, is attributed to the new
 * author.
 */
export function withEvidenceAuthors(
  before: readonly TaskEvidence[],
  after: readonly Evidence[],
  authorOf: (item: Evidence) => string,
): TaskEvidence[] {
  const stored = new Map(before.map((item) => [canonicalJson(withoutAuthor(item)), item]));
  return after.map((item) => {
    const known = stored.get(canonicalJson(item));
    return known ?? { ...item, addedByPrincipalId: authorOf(item) };
  });
}

interface TaskFields {
  readonly customFields: JsonObject;
}

/** A change to a task, as the conditions of checks read it. */
export interface FieldChange {
  readonly before: TaskFields;
  readonly after: TaskFields;
}

/**
 * The checks that would be skipped after a change of fields, because it empties fields that their conditions read.
 * Values of other roots don't change.
 * @param own the checks of the task itself
 * @param root the name by which the conditions read the changed task
 */
export async function findSkippedChecks(
  { acceptance, createdBy }: Pick<TypeRules, 'acceptance' | 'createdBy'>,
  own: readonly TaskCheck[],
  { before, after }: FieldChange,
  root: 'task' | 'spawnedBy' = 'task',
): Promise<RemovedRequirement[]> {
  const ofType = acceptance.map((check) => ({ ...check, addedByPrincipalId: createdBy }));
  const lookupIn =
    (task: TaskFields): Lookup =>
    async (expression) =>
      expression.root === root && !expression.path.startsWith('artifact[')
        ? fieldOf(task, expression.path)
        : true;
  const silenced: RemovedRequirement[] = [];
  for (const { key, when, addedByPrincipalId } of [...ofType, ...own]) {
    if (when == null || (await allHaveValues(when, lookupIn(after)))) continue;
    if (await allHaveValues(when, lookupIn(before)))
      silenced.push({ key, addedBy: addedByPrincipalId ?? null });
  }
  return silenced;
}

/** Whether a change empties a field that conditions can read. */
export function emptiesField({ before, after }: FieldChange): boolean {
  const isEmpty = (value: unknown) =>
    value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
  const empties = (old: object, now: object) =>
    Object.entries(old).some(([name, value]) => !isEmpty(value) && isEmpty((now as JsonObject)[name]));
  return empties(before, after) || empties(before.customFields, after.customFields);
}

/** The requirements of one version of a type that another version lacks or changes. */
export function findLostRequirements(from: TypeRules, to: TypeRules): RemovedRequirement[] {
  const outputsOf = ({ requiredOutputs }: TypeRules) =>
    requiredOutputs.map((output) => [`output.${output.key}`, canonicalJson(output)] as const);
  const checksOf = ({ acceptance }: TypeRules) =>
    acceptance.map((check) => [check.key, canonicalJson(check)] as const);
  const kept = new Map([...outputsOf(to), ...checksOf(to)]);
  return [...outputsOf(from), ...checksOf(from)]
    .filter(([key, content]) => kept.get(key) !== content)
    .map(([key]) => ({ key, addedBy: from.createdBy }));
}
