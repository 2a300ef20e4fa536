import { canonicalJson } from '@baton/values/canonical-json';
import type { Json, JsonObject } from '@baton/values/wire';
import { expressionsIn } from '../../definitions/declared-actions/filled-actions.ts';
import { rulesOf, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import type { Context } from '../context.ts';
import { mayDecideApproval } from '../gates/deciders.ts';
import { type ApprovalRow, listApprovedGates, renewApproval } from '../gates/gates.ts';
import { subjectTaskOf } from './lookup.ts';
import { type Task, type TaskRow, taskOf } from './task.ts';

/** The task's fields that a gate's approval covers. */
type Approved = Pick<
  Task,
  'title' | 'description' | 'acceptance' | 'typeKey' | 'typeVersion' | 'customFields'
>;

/**
 * Renews the approvals of a locked task if it changed in a way that the approved subject doesn't cover
 * (docs/reference/relations.md#gates): its title, description, acceptance or type, or a custom field that an action of
 * the outcome reads. A change by a principal that could decide the approval doesn't renew it. For a terminal task, the
 * changes are compared when it is reopened.
 * @param before undefined if the type was changed
 * @throws Refusal `payload_too_large` if the subject is too large to be shown to a person
 */
export async function renewApprovals(
  context: Context,
  before: TaskRow | undefined,
  after: TaskRow,
): Promise<void> {
  if (isTerminal(after)) return;
  const task = taskOf(after);
  const earlier = before === undefined ? undefined : taskOf(before);
  const isReopened = before !== undefined && isTerminal(before);
  if (
    earlier !== undefined &&
    !isReopened &&
    differences(earlier, task, fieldsIn(earlier, task)).length === 0
  )
    return;
  const declared = fieldsRead(await rulesOf(context, after.type_id));
  for (const gate of await listApprovedGates(context, after.id)) {
    const compared = isReopened ? gate.subject?.snapshot.task : earlier;
    const changed = findChangedFields(compared, task, {
      isReopened,
      fields: [...declared, ...fieldsOf(gate)],
    });
    if (changed.length === 0 || (await mayDecideApproval(context, gate))) continue;
    const why = `Changed since it was approved: ${changed.join(', ')}.`;
    await renewApproval(context, subjectTaskOf(context, task), gate, why);
  }
}

/** @param compared undefined or null if the type was changed or the approved subject is not recorded */
function findChangedFields(
  compared: Approved | undefined | null,
  task: Task,
  { isReopened, fields }: { isReopened: boolean; fields: readonly string[] },
): string[] {
  if (compared != null) return differences(compared, task, fields);
  return [isReopened ? 'unknown' : 'typeVersion'];
}

function fieldsIn(...tasks: readonly Task[]): string[] {
  return tasks.flatMap(({ customFields }) => Object.keys(customFields));
}

function isTerminal({ category }: TaskRow): boolean {
  return category.startsWith('terminal_');
}

/** The custom fields that the expressions of an approved subject read: in its outcome, and in the calls of checks. */
function fieldsOf({ subject }: ApprovalRow): string[] {
  return Object.keys(subject?.values ?? {}).flatMap((name) => {
    const [, field] = /^\$\.task\.customFields\.([^|]+)/.exec(name) ?? [];
    return field ?? [];
  });
}

/** The custom fields that the outcomes of the type's gates read. */
function fieldsRead({ approvalSchema }: TypeRules): string[] {
  const { approved = [], rejected = [] } = approvalSchema.gates?.['default']?.outcomes ?? {};
  return expressionsIn([...approved, ...rejected]).flatMap(({ root, path }) => {
    const [, name] = /^customFields\.(.+)$/.exec(path) ?? [];
    return root === 'task' && name !== undefined ? [name] : [];
  });
}

function differences(before: Approved, after: Approved, fields: readonly string[]): string[] {
  const names = ['title', 'description', 'acceptance', 'typeKey', 'typeVersion'] as const;
  const changed: string[] = names.filter((name) => differs(before[name] as Json, after[name] as Json));
  const isFieldChanged = fields.some((name) =>
    differs(memberOf(before.customFields, name), memberOf(after.customFields, name)),
  );
  return isFieldChanged ? [...changed, 'customFields'] : changed;
}

function memberOf(fields: JsonObject, name: string): Json {
  return Object.hasOwn(fields, name) ? (fields[name] ?? null) : null;
}

function differs(one: Json, other: Json): boolean {
  return canonicalJson(one) !== canonicalJson(other);
}
