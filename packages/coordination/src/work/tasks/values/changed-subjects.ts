import { canonicalJson } from '@baton/kernel/idempotency';
import type { Json, JsonObject } from '@baton/kernel/wire';
import { expressionsIn } from '../../../definitions/declared-actions/filled-actions.ts';
import { rulesOf, type TypeRules } from '../../../definitions/task-types/type-rules.ts';
import type { Context } from '../../context.ts';
import { couldDecide } from '../../gates/deciders.ts';
import { listApprovedGates, writeApprovalRequest } from '../../gates/gates.ts';
import { type Task, type TaskRow, taskOf } from '../task.ts';
import { subjectTaskOf } from './subject-task.ts';

/** Where the contract bounds a comment. */
const commentCharactersMax = 4000;

/** What of a task an approval of its gate rests on. */
type Approved = Pick<
  Task,
  'title' | 'description' | 'acceptance' | 'typeKey' | 'typeVersion' | 'customFields'
>;

/**
 * Requests the approvals of a locked task again, where its change is one that the approved subject doesn't cover (core,
 * section 14): of title, description, acceptance, type, or of a custom field that an action of the outcome reads. A change
 * by somebody who could decide an approval needs no other one. What was changed while the task was terminal is compared when
 * it is reopened.
 * @param before undefined where the type was changed
 * @throws Refusal `payload_too_large` where there is more than a person can be shown
 */
export async function renewApprovals(
  context: Context,
  before: TaskRow | undefined,
  after: TaskRow,
): Promise<void> {
  if (isTerminal(after)) return;
  const task = taskOf(after);
  const rules = await rulesOf(context, after.type_id);
  const fields = fieldsRead(rules);
  const changedNow = before === undefined ? ['typeVersion'] : differences(taskOf(before), task, fields);
  const isReopened = before !== undefined && isTerminal(before);
  if (changedNow.length === 0 && !isReopened) return;
  for (const gate of await listApprovedGates(context, after.id)) {
    const approved = gate.subject?.snapshot.task;
    const changed = isReopened && approved != null ? differences(approved, task, fields) : changedNow;
    if (changed.length === 0 && approved != null) continue;
    if (await couldDecide(context, gate)) continue;
    await writeApprovalRequest(context, {
      task: subjectTaskOf(context, task),
      artifactId: gate.artifact_id,
      workspaceId: gate.workspace_id,
      requiredRoleId: gate.required_role_id,
      assignedPrincipalId: gate.assigned_principal_id,
      excludedPrincipals: gate.excluded_principals,
      comment: commentOf(gate.comment, changed),
      gate: true,
      isDeclared: true,
      supersedesApprovalId: gate.id,
    });
  }
}

function commentOf(comment: string, changed: readonly string[]): string {
  const why = `Changed since it was approved: ${changed.join(', ') || 'unknown'}.`;
  return `${why} ${comment}`.trim().slice(0, commentCharactersMax).toWellFormed();
}

function isTerminal({ category }: TaskRow): boolean {
  return category.startsWith('terminal_');
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
