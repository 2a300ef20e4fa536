import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { parseAcceptance, requireSubjectsOfChecks } from '../../definitions/acceptance/acceptance.ts';
import {
  parseEvidence,
  requireEvidenceTargets,
  requireKnownChecks,
} from '../../definitions/acceptance/evidence.ts';
import { defaultOrigin, parseOrigin, summarizeOrigin } from '../../definitions/acceptance/origin.ts';
import type { LifecycleStatus } from '../../definitions/task-types/lifecycle.ts';
import { resolveTaskType, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { requireSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { requireGoalForTask } from '../goals/goals.ts';
import { parseCustomFields } from './custom-fields.ts';
import { recordMentions } from './mentions/mentions.ts';
import { withAuthors, withEvidenceAuthors } from './protection/protection.ts';
import { refuseBeyondLimit } from './relation-limit.ts';
import { authorsOfRequirements, resolveRequirements } from './requirements.ts';
import { type NewTask, type Task, type TaskRow, taskOf } from './task.ts';
import {
  priorityIndex,
  requireDatesInOrder,
  requirePrincipals,
  requireStatus,
  requireTitle,
  requireWorkspace,
} from './task-fields.ts';
import type { TaskRef } from './task-ref.ts';
import { taskCreated, taskRelationAdded } from './tasks.events.ts';
import { findTask, insertTask, lockTask } from './tasks.sql.ts';

/** @throws Refusal `not_found` */
export async function getTask(context: Context, ref: TaskRef): Promise<Task> {
  return taskOf(await getTaskRow(context, ref));
}

/** Reads the task without a visibility check, for the requirements of its type. Undefined if it doesn't exist. */
export async function findTaskUnseen({ db, tenantId }: Context, ref: TaskRef): Promise<Task | undefined> {
  const row = await db.row(findTask(tenantId, ref));
  return row === undefined ? undefined : taskOf(row);
}

/** @throws Refusal `not_found` */
export async function getTaskRow(context: Context, ref: TaskRef): Promise<TaskRow> {
  const row = (await context.db.row(findTask(context.tenantId, ref))) ?? fail('not_found');
  await requireSight(context, row.workspace_id);
  return row;
}

/**
 * Locks a task for the rest of the command and reads it under the lock.
 * @param claimId the claim presented to the claim gate: its session can't end before the command does
 * @throws Refusal `not_found`
 */
export async function lockTaskRow(context: Context, ref: TaskRef, claimId?: string | null): Promise<TaskRow> {
  const row = (await context.db.row(lockTask(context.tenantId, ref, claimId ?? null))) ?? fail('not_found');
  await requireSight(context, row.workspace_id);
  return row;
}

/**
 * Creates a task of the caller, whose description may mention others. Rules, processes and outcomes use `createTask`
 * instead, so that a description that they copy notifies nobody again.
 * @throws Refusal those of `createTask`
 */
export async function createOwnTask(context: Context, request: NewTask): Promise<Task> {
  const task = await createTask(context, request);
  await recordMentions(context, task, { text: task.description, commentId: null, isNew: true });
  return task;
}

/**
 * Creates a task (docs/reference/tasks.md#create).
 * @param id of the new task, if the caller has already allocated it
 * @param author of its checks, requirements and evidence: the service if a declaration creates the task
 * @throws Refusal `permission_denied` if the decision point doesn't permit the task's workspace, those of its fields,
 * and last those of `refuseBeyondLimit`
 */
export async function createTask(
  context: Context,
  request: NewTask,
  id = newId(),
  author = context.caller.principalId,
): Promise<Task> {
  const { values, parentTaskId } = await valuesOf(context, request, author);
  const relationId = newId();
  const { tenantId, caller } = context;
  const ids = { id, tenantId, createdBy: caller.principalId, relationId, parentTaskId };
  const task = taskOf((await context.db.row(insertTask({ ...values, ...ids }))) as TaskRow);
  if (parentTaskId !== null) await refuseBeyondLimit(context, parentTaskId);
  const about = { entityId: task.id, workspaceId: task.workspaceId };
  emit(context, taskCreated, about, {
    publicId: task.publicId,
    title: eventText(task.title),
    status: task.status,
    systemStatusCategory: task.systemStatusCategory,
    typeKey: task.typeKey,
    typeVersion: task.typeVersion,
    priority: task.priority,
    workspaceId: task.workspaceId,
    startDate: task.startDate,
    dueDate: task.dueDate,
    customFields: Object.keys(task.customFields).length > 0,
    goalId: task.goalId,
    origin: summarizeOrigin(values.origin),
    acceptanceChecks: task.acceptanceChecks,
  });
  if (parentTaskId !== null)
    emit(context, taskRelationAdded, about, { relationId, toTaskId: parentTaskId, type: 'parent' });
  return task;
}

/** Validates the request, in the documented order of refusals, and fills in the defaults. */
async function valuesOf(context: Context, request: NewTask, author: string) {
  requireTitle(request.title);
  const priority = priorityIndex(request.priority);
  const rules = await resolveTaskType(context, request);
  const status = initialStatus(rules, request.status ?? undefined);
  const customFields = parseCustomFields(request.customFields, rules);
  const [startDate, dueDate] = [request.startDate ?? null, request.dueDate ?? null];
  requireDatesInOrder(startDate, dueDate);
  const { ownerId = null, assigneeId = null } = await requirePrincipals(context, request);
  const workspaceId = request.workspaceId ?? null;
  await requireWorkspace(context, workspaceId, rules.key);
  await requireMayFile(context, 'tasks.write', workspaceId);
  const acceptance = parseAcceptance(request.acceptance, rules.acceptanceKeys);
  await requireSubjectsOfChecks(context, acceptance);
  const evidence = parseEvidence(request.evidence);
  requireKnownChecks(evidence, [...rules.acceptanceKeys, ...acceptance.map(({ key }) => key)]);
  const givenOrigin = request.origin == null ? undefined : parseOrigin(request.origin);
  await requireEvidenceTargets(context, [...evidence, ...(givenOrigin?.evidence ?? [])]);
  const goalId = request.goalId ?? null;
  if (goalId !== null) await requireGoalForTask(context, goalId, workspaceId);
  const requirementSetId =
    request.requirements == null
      ? null
      : await resolveRequirements(context, request.requirements, workspaceId);
  const parent = request.parentTask == null ? undefined : await getTask(context, request.parentTask);
  const origin = givenOrigin ?? defaultOrigin(parent?.id, context.caller.kind === 'human');
  const { title, description } = request;
  const { key, category } = status;
  const texts = { title, description };
  const state = {
    typeId: rules.id,
    status: key,
    category,
    priority,
    ownerId,
    assigneeId,
    workspaceId,
    goalId,
  };
  const documents = {
    customFields,
    origin,
    acceptance: withAuthors([], acceptance, author),
    evidence: withEvidenceAuthors([], evidence, () => author),
    requirementSetId,
    requirementAuthors:
      request.requirements == null ? {} : authorsOfRequirements(request.requirements, author),
  };
  return {
    values: { ...texts, ...state, startDate, dueDate, ...documents },
    parentTaskId: parent?.id ?? null,
  };
}

function initialStatus({ lifecycle }: TypeRules, asked: string | undefined): LifecycleStatus {
  const status = requireStatus({ lifecycle }, asked ?? lifecycle.initialStatus);
  if (status.key !== lifecycle.initialStatus && status.category !== 'backlog')
    fail('invalid_status', { status: status.key, initialStatus: lifecycle.initialStatus });
  return status;
}
