import { type Json, type JsonObject, Uuid } from '@baton/values/wire';
import { requireKnownPrincipals } from '../../access/principals/principals.ts';
import type { EnsureWork } from '../../definitions/declared-actions/actions.ts';
import { type Lookup, valueOfDocument, valueOfText } from '../../definitions/declared-actions/expressions.ts';
import { getRoleRow } from '../../organisation/roles/roles.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { writeApprovalRequest } from '../gates/gates.ts';
import { relateNewTask } from '../relations/task-relations.ts';
import { subjectTaskOf } from '../tasks/lookup.ts';
import { NewTask, type Task } from '../tasks/task.ts';
import { createTask } from '../tasks/tasks.ts';
import { failAction } from './action-fault.ts';
import { findEnsuredWork, insertWorkKey, updateWorkKey } from './declared-actions.sql.ts';

const keyCharactersMax = 500;

/**
 * Creates the task of a declared action, unless an earlier action with the same key has created it; of concurrent
 * actions, only one does (docs/reference/definitions.md#declared-actions).
 * @param source the task whose type declares the action; the new task is related to it
 * @throws ActionFault `invalid_work`; UnresolvedExpression; Refusal `permission_denied`, and those of creating a task
 */
export async function ensureWork(
  context: Context,
  source: Task,
  declared: EnsureWork,
  lookup: Lookup,
): Promise<JsonObject> {
  if (!holds(context.caller.permissions, 'tasks.write'))
    fail('permission_denied', { required: ['tasks.write'] });
  const { db, tenantId } = context;
  const key = await resolveText(declared.key, lookup);
  if (key.trim() === '' || key.length > keyCharactersMax) failAction('invalid_work', { field: 'key' });
  if ((await db.row(insertWorkKey(tenantId, key))) === undefined) {
    const existing =
      (await db.row(findEnsuredWork(tenantId, key))) ?? failAction('invalid_work', { field: 'key' });
    return { taskId: existing.id, publicId: existing.public_id, created: false };
  }
  const task = await createTask(context, await requestOf(source, declared, lookup));
  await db.run(updateWorkKey(tenantId, key, task.id));
  await relateNewTask(context, task, { toTaskId: source.id, type: declared.relation ?? 'spawned_by' });
  const approvalId = await askForApproval(context, task, declared, lookup);
  return { taskId: task.id, publicId: task.publicId, created: true, ...(approvalId && { approvalId }) };
}

async function requestOf(source: Task, declared: EnsureWork, lookup: Lookup): Promise<NewTask> {
  const resolve = async (text: string | undefined): Promise<Json> =>
    text === undefined ? null : valueOfText(text, lookup);
  const priority = await resolve(declared.priority);
  const parsed = NewTask.safeParse({
    typeKey: declared.type,
    title: await resolveText(declared.title, lookup),
    description: declared.description === undefined ? '' : await resolveText(declared.description, lookup),
    assigneeId: await resolve(declared.assignee),
    workspaceId: (await resolve(declared.workspace)) ?? source.workspaceId,
    customFields: await valueOfDocument(declared.customFields ?? {}, lookup),
    ...(priority !== null && { priority }),
  });
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  return failAction('invalid_work', { field: (first?.path ?? []).join('.'), message: first?.message ?? '' });
}

async function askForApproval(
  context: Context,
  task: Task,
  { requestApproval: declared }: EnsureWork,
  lookup: Lookup,
): Promise<string | undefined> {
  if (declared === undefined) return undefined;
  const { approver, approverRole, comment } = declared;
  const whom = Uuid.safeParse(await valueOfText(approver ?? approverRole ?? '', lookup));
  if (!whom.success) return failAction('invalid_work', { field: 'requestApproval' });
  const isOfRole = approver === undefined;
  if (isOfRole) await getRoleRow(context, whom.data);
  else await requireKnownPrincipals(context, [whom.data]);
  const { id } = await writeApprovalRequest(context, {
    task: subjectTaskOf(context, task),
    artifactId: null,
    workspaceId: task.workspaceId,
    requiredRoleId: isOfRole ? whom.data : null,
    assignedPrincipalId: isOfRole ? null : whom.data,
    excludedPrincipals: [],
    comment: comment === undefined ? '' : (await resolveText(comment, lookup)).slice(0, 4000).toWellFormed(),
    gate: true,
    isDeclared: true,
  });
  return id;
}

/** Resolves a string with expressions; values of any type are converted to strings. */
export async function resolveText(text: string, lookup: Lookup): Promise<string> {
  const value = await valueOfText(text, lookup);
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
