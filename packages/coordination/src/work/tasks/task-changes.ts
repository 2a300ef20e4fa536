import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { requireMayMove } from '../../access/policy/filed-in.ts';
import {
  parseAcceptance,
  requireSubjectsOfChecks,
  type TaskCheck,
} from '../../definitions/acceptance/acceptance.ts';
import {
  type Evidence,
  parseEvidence,
  requireEvidenceTargets,
  requireKnownChecks,
} from '../../definitions/acceptance/evidence.ts';
import { findStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import { requireDelegated } from '../../leases/delegated/delegated-rights.ts';
import { failRunningRun } from '../../leases/fail-runs.ts';
import { passClaimGate } from '../../leases/gate.ts';
import { releaseClaims } from '../../leases/release.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { requireGoalForTask, requireGoalStays } from '../goals/goals.ts';
import { cancelOpenAttempt, wakeOpenAttempt } from '../verifications/attempts.ts';
import { requireAddressee } from './addressees/addressees.ts';
import { renewApprovals } from './changed-subjects.ts';
import { parseCustomFields } from './custom-fields.ts';
import { recordMentions } from './mentions/mentions.ts';
import {
  findRemovedChecks,
  findSkippedChecks,
  requireMayRemove,
  withAuthors,
  withEvidenceAuthors,
} from './protection/protection.ts';
import { requireSpawnedChecksStay } from './protection/spawned-tasks.ts';
import {
  changeOfRequirements,
  namesOfRequirements,
  type RequirementNames,
  requirementsAfter,
} from './requirements.ts';
import { requireFormFits } from './step-forms/step-forms.ts';
import { priorities, type Task, type TaskChange, type TaskRow, taskOf } from './task.ts';
import {
  priorityIndex,
  requireDatesInOrder,
  requirePrincipals,
  requireStatus,
  requireTitle,
  requireWorkspace,
} from './task-fields.ts';
import type { TaskRef } from './task-ref.ts';
import { taskUpdated } from './tasks.events.ts';
import { type TaskValues, updateTaskValues } from './tasks.sql.ts';
import { lockTaskRow } from './tasks.ts';
import { requireVersion } from './versions.ts';

type Changes = Record<string, string | number | true | null | RequirementNames>;
/** The task fields that process expressions read (`TaskRoot`), except the task's ids and its type. */
const readBySteps: readonly string[] = [
  'title',
  'status',
  'priority',
  'workspaceId',
  'assigneeId',
  'customFields',
];
/** The fields that null clears. */
export const nullableFields: readonly string[] = [
  'ownerId',
  'assigneeId',
  'workspaceId',
  'startDate',
  'dueDate',
  'goalId',
];

/** The authors of changed parts of a task, if they differ from the caller. */
interface ChangeOptions {
  readonly asProcess?: boolean;
  readonly evidenceAuthorOf?: (item: Evidence) => string;
}

/**
 * Changes a task for the caller, whose description may mention others (see `createOwnTask`).
 * @throws Refusal those of `updateTask`
 */
export async function updateOwnTask(
  context: Context,
  ref: TaskRef,
  ifMatch: number,
  change: TaskChange,
): Promise<Task> {
  const task = await updateTask(context, ref, ifMatch, change);
  // An unchanged task keeps its version, and its description mentions nobody once more.
  if (change.description != null && task.version !== ifMatch)
    await recordMentions(context, task, { text: task.description, commentId: null, isNew: false });
  return task;
}

/**
 * Changes a task (docs/reference/tasks.md#change). The holder of the task's live claim must present it. Unchanged
 * values have no effect. A move to a cancelled status ends the run, the claim and the verification. A change of the
 * approved subject renews the approval. Only the task's addressee can change what a process step reads, and only the
 * author or a person can remove requirements of the task (`requireMayRemove`).
 * @param options.asProcess whether the process itself changes the task of its step
 * @param options.evidenceAuthorOf the author of new evidence: the caller, unless a rule adds it
 */
export async function updateTask(
  context: Context,
  ref: TaskRef,
  ifMatch: number,
  change: TaskChange,
  { asProcess = false, evidenceAuthorOf = () => context.caller.principalId }: ChangeOptions = {},
): Promise<Task> {
  const before = await lockTaskRow(context, ref, change.claimId);
  requireVersion(before, ifMatch);
  const liveClaim = await passClaimGate(
    context,
    before.id,
    { claimId: change.claimId ?? undefined, fencingToken: change.fencingToken ?? undefined },
    { claimRequired: false },
  );
  if (liveClaim !== undefined)
    await requireDelegated(context, { sessionId: liveClaim.session_id }, 'tasks.write');
  const after = await valuesAfter(context, before, change, evidenceAuthorOf);
  const { claimId: _, fencingToken: __, ...fields } = change;
  if (Object.keys(fields).length === 0) fail('empty_update');
  const changes: Changes = differences(before, after);
  if (after.requirement_set_id !== before.requirement_set_id)
    changes['requirements'] = await namesOfRequirements(context, after.requirement_set_id);
  if (Object.keys(changes).length === 0) return taskOf(before);
  if (!asProcess && readBySteps.some((field) => changes[field] !== undefined))
    await requireAddressee(context, before);
  if (changes['customFields'] !== undefined && isResultGiven(before))
    await requireFormFits(context, { ...before, custom_fields: after.custom_fields });

  if (after.category === 'terminal_cancelled' && before.category !== 'terminal_cancelled') {
    await failRunningRun(context, before.id, 'task_cancelled');
    if (liveClaim !== undefined)
      await releaseClaims(
        context,
        { claimIds: [liveClaim.id] },
        { reason: 'task_cancelled', taskStatusMove: false },
      );
    if (before.open_verification_id !== null) await cancelOpenAttempt(context, before.id);
  }
  const row = (await context.db.row(updateTaskValues(context.tenantId, before.id, after))) as TaskRow;
  if (changes['evidence'] !== undefined && row.open_verification_id !== null)
    await wakeOpenAttempt(context, row.id);
  const task = taskOf(row);
  emit(
    context,
    taskUpdated,
    { entityId: task.id, workspaceId: task.workspaceId, sessionId: liveClaim?.session_id ?? null },
    {
      publicId: task.publicId,
      changes,
      version: task.version,
      ...(changes['status'] !== undefined && {
        fromStatus: before.status,
        status: task.status,
        systemStatusCategory: task.systemStatusCategory,
      }),
    },
  );
  await renewApprovals(context, before, row);
  return task;
}

/**
 * Whether a task's process may read the custom fields at any time, because they were validated when the completion was
 * requested.
 */
function isResultGiven({ category, open_verification_id: attempt }: TaskRow): boolean {
  return category === 'terminal_success' || attempt !== null;
}

/** The task's values after the change, checked in the documented order of refusals. */
async function valuesAfter(
  context: Context,
  before: TaskRow,
  change: TaskChange,
  evidenceAuthorOf: (item: Evidence) => string,
): Promise<TaskValues> {
  const rules = await rulesOf(context, before.type_id);
  if (change.title != null) requireTitle(change.title);
  const priority = change.priority == null ? before.priority : priorityIndex(change.priority);
  const moved = change.status == null ? before : statusAfter(rules, before, change.status);
  const principals = await requirePrincipals(context, change);
  const workspaceId = change.workspaceId === undefined ? before.workspace_id : change.workspaceId;
  if (workspaceId !== before.workspace_id) {
    await requireWorkspace(context, workspaceId, rules.key);
    await requireMayMove(context, 'tasks.write', before.workspace_id, workspaceId);
  }
  const customFields =
    change.customFields === undefined ? before.custom_fields : parseCustomFields(change.customFields, rules);
  const startDate = change.startDate === undefined ? before.start_date : change.startDate;
  const dueDate = change.dueDate === undefined ? before.due_date : change.dueDate;
  if (change.startDate !== undefined || change.dueDate !== undefined) requireDatesInOrder(startDate, dueDate);
  const goalId = await goalAfter(context, before, change, workspaceId);
  const proof = await proofAfter(context, rules, before, change, evidenceAuthorOf);
  const requirementSetId = await requirementsAfter(
    context,
    before,
    change.requirements ?? undefined,
    workspaceId,
  );
  const requirements = await changeOfRequirements(context, before, requirementSetId);
  await requireMayRemove(context, before.id, requirements.taken);
  const values = {
    title: change.title ?? before.title,
    description: change.description ?? before.description,
    priority,
    status: moved.status,
    category: moved.category,
    owner_id: principals.ownerId === undefined ? before.owner_id : principals.ownerId,
    assignee_id: principals.assigneeId === undefined ? before.assignee_id : principals.assigneeId,
    workspace_id: workspaceId,
    custom_fields: customFields,
    start_date: startDate,
    due_date: dueDate,
    goal_id: goalId,
    ...proof,
    requirement_set_id: requirementSetId,
    requirement_authors: requirements.authors,
    completed_at: moved.category === 'terminal_success' ? before.completed_at : null,
  };
  const fields = { before: taskOf(before), after: taskOf({ ...before, ...values }) };
  await requireMayRemove(context, before.id, await findSkippedChecks(rules, before.acceptance, fields));
  await requireSpawnedChecksStay(context, before.id, fields);
  return values;
}

/** The goal in the request. A goal that isn't changed must not belong to the workspace that the task leaves. */
async function goalAfter(
  context: Context,
  before: TaskRow,
  change: TaskChange,
  workspaceId: string | null,
): Promise<string | null> {
  const goalId = change.goalId === undefined ? before.goal_id : change.goalId;
  if (goalId === null) return null;
  if (goalId !== before.goal_id) await requireGoalForTask(context, goalId, workspaceId);
  else if (workspaceId !== before.workspace_id) await requireGoalStays(context, goalId, workspaceId);
  return goalId;
}

function statusAfter(
  rules: TypeRules,
  before: TaskRow,
  statusKey: string,
): Pick<TaskRow, 'status' | 'category'> {
  const { key, category } = requireStatus(rules, statusKey);
  if (category === 'terminal_success') fail('invalid_status', { status: key, use: ':complete' });
  const allowed = movesFrom(rules.lifecycle, before.status);
  if (!allowed.includes(key))
    fail('invalid_transition', { from: before.status, to: key, allowed: openMoves(rules, allowed) });
  return { status: key, category };
}

function openMoves({ lifecycle }: TypeRules, keys: readonly string[]): string[] {
  return keys.filter((key) => findStatus(lifecycle, key)?.category !== 'terminal_success');
}

/** Acceptance and evidence after the change: evidence must refer to checks that exist after it. */
async function proofAfter(
  context: Context,
  rules: TypeRules,
  before: TaskRow,
  change: TaskChange,
  evidenceAuthorOf: (item: Evidence) => string,
): Promise<Pick<TaskValues, 'acceptance' | 'evidence'>> {
  if (change.acceptance == null && change.evidence == null)
    return { acceptance: before.acceptance, evidence: before.evidence };
  const acceptance =
    change.acceptance == null
      ? before.acceptance
      : await acceptanceAfter(context, rules, before, change.acceptance);
  const evidence =
    change.evidence == null
      ? before.evidence
      : withEvidenceAuthors(before.evidence, parseEvidence(change.evidence), evidenceAuthorOf);
  requireKnownChecks(evidence, [...rules.acceptanceKeys, ...acceptance.map(({ key }) => key)]);
  await requireEvidenceTargets(context, evidence);
  return { acceptance, evidence };
}

/** @throws Refusal those of checks, and `acceptance_protected` */
async function acceptanceAfter(
  context: Context,
  rules: TypeRules,
  before: TaskRow,
  sent: readonly unknown[],
): Promise<TaskCheck[]> {
  const acceptance = parseAcceptance(sent, rules.acceptanceKeys);
  await requireSubjectsOfChecks(context, acceptance);
  await requireMayRemove(context, before.id, findRemovedChecks(before.acceptance, acceptance));
  return withAuthors(before.acceptance, acceptance, context.caller.principalId);
}

/** The changed fields for the event: values, but only a flag for custom fields and counts for documents. */
function differences(before: TaskRow, after: TaskValues): Changes {
  const changed = (column: keyof TaskValues) =>
    canonicalJson(before[column]) !== canonicalJson(after[column]);
  return {
    ...(changed('title') && { title: eventText(after.title) }),
    ...(changed('description') && { description: eventText(after.description) }),
    ...(changed('priority') && { priority: priorities[after.priority] }),
    ...(changed('status') && { status: after.status }),
    ...(changed('owner_id') && { ownerId: after.owner_id }),
    ...(changed('assignee_id') && { assigneeId: after.assignee_id }),
    ...(changed('workspace_id') && { workspaceId: after.workspace_id }),
    ...(changed('custom_fields') && { customFields: true }),
    ...(changed('start_date') && { startDate: after.start_date }),
    ...(changed('due_date') && { dueDate: after.due_date }),
    ...(changed('goal_id') && { goalId: after.goal_id }),
    ...(changed('acceptance') && { acceptance: after.acceptance.length }),
    ...(changed('evidence') && { evidence: after.evidence.length }),
  };
}
