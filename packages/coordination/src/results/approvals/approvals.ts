import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { requireKnownPrincipals } from '../../access/principals/principals.ts';
import { getRoleRow } from '../../organisation/roles/roles.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { listHanging } from '../../service/sight/seen-list.ts';
import { requireSightOfPlace } from '../../service/sight/sight.ts';
import { type ApprovalRow, writeApprovalRequest } from '../../work/gates/gates.ts';
import { terminalCategories } from '../../work/readiness/claimability.ts';
import { subjectTaskOf } from '../../work/tasks/lookup.ts';
import { type Task, taskOf } from '../../work/tasks/task.ts';
import { getTask, lockTaskRow } from '../../work/tasks/tasks.ts';
import { getArtifactRow } from '../artifacts/artifacts.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type Approval,
  type ApprovalRequest,
  approvalOf,
  approvalStatuses,
  type ListedApproval,
  listedApprovalOf,
} from './approval.ts';
import { findApproval, listOfApprovals } from './approvals.sql.ts';
import { findPresentDigests, presentSubjectOf } from './present-subjects.ts';

/**
 * Requests approval from a person. See docs/reference/approvals.md#request.
 * @param isDeclared whether a declaration requires the request; if so, the core is the requester
 * @throws Refusal `invalid_approval`, `not_found`, `permission_denied`, `payload_too_large`
 */
export async function requestApproval(
  context: Context,
  request: ApprovalRequest,
  isDeclared = false,
): Promise<Approval> {
  const { requiredRoleId = null, assignedPrincipalId = null, gate, comment } = request;
  const excludedPrincipals = request.excludedPrincipals ?? [];
  refuseContradiction(request, excludedPrincipals);
  const task = await taskOfRequest(context, request);
  if (request.artifactId != null) await getArtifactRow(context, request.artifactId);
  const workspaceId = await workspaceOfRequest(context, request, task);
  // A request in an ancestor of its task's workspace also concerns the task's workspace.
  await requireMayFile(
    context,
    'approvals.manage',
    workspaceId,
    task === undefined ? workspaceId : task.workspaceId,
  );
  if (requiredRoleId !== null) await getRoleRow(context, requiredRoleId);
  await requireKnownPrincipals(context, [assignedPrincipalId ?? [], excludedPrincipals].flat());
  const row = await writeApprovalRequest(context, {
    task: task === undefined ? null : subjectTaskOf(context, task),
    artifactId: request.artifactId ?? null,
    workspaceId,
    requiredRoleId,
    assignedPrincipalId,
    excludedPrincipals,
    comment,
    gate,
    isDeclared,
  });
  return shownApproval(context, row);
}

function refuseContradiction(
  { requiredRoleId, assignedPrincipalId, gate, task }: ApprovalRequest,
  excludedPrincipals: readonly string[],
): void {
  if ((requiredRoleId == null) === (assignedPrincipalId == null))
    fail('invalid_approval', { fields: ['requiredRoleId', 'assignedPrincipalId'], reason: 'exactly_one' });
  if (assignedPrincipalId != null && excludedPrincipals.includes(assignedPrincipalId))
    fail('invalid_approval', { field: 'assignedPrincipalId', reason: 'excluded' });
  if (gate && task == null) fail('invalid_approval', { field: 'task', reason: 'gate_without_task' });
}

/** The task, locked if the request is a gate. */
async function taskOfRequest(
  context: Context,
  { task: ref, gate }: ApprovalRequest,
): Promise<Task | undefined> {
  if (ref == null) return undefined;
  if (!gate) return getTask(context, ref);
  const task = await lockTaskRow(context, ref);
  if (terminalCategories.includes(task.category))
    fail('invalid_approval', { field: 'gate', reason: 'task_terminal', taskId: task.id });
  return taskOf(task);
}

/** The workspace in which the decider's role must apply: the task's, unless the request names an ancestor. */
async function workspaceOfRequest(
  context: Context,
  { workspaceId }: ApprovalRequest,
  task: Task | undefined,
): Promise<string | null> {
  if (workspaceId == null) return task?.workspaceId ?? null;
  await getWorkspaceRow(context, workspaceId);
  if (task === undefined || task.workspaceId === workspaceId) return workspaceId;
  const above: readonly string[] =
    task.workspaceId === null ? [] : (await getWorkspaceRow(context, task.workspaceId)).path;
  if (!above.includes(workspaceId))
    fail('invalid_approval', { field: 'workspaceId', reason: 'not_above_the_task', taskId: task.id });
  return workspaceId;
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listApprovals(
  context: Context,
  { status, taskId }: { status?: string; taskId?: string },
  page: Page,
): Promise<ItemPage<ListedApproval>> {
  if (status !== undefined && !approvalStatuses.some((known) => known === status))
    fail('invalid_status', { known: approvalStatuses });
  const { tenantId } = context;
  const filter = { status, task_id: taskId };
  const found = await listHanging(context, taskId, listOfApprovals(tenantId, filter), page, (row) => row);
  const digests = await findPresentDigests(context, found.items);
  return { ...found, items: found.items.map((row) => listedApprovalOf(row, digests.get(row.id))) };
}

/** @throws Refusal `not_found` */
export async function getApproval(context: Context, approvalId: string): Promise<Approval> {
  return shownApproval(context, await getApprovalRow(context, approvalId));
}

/** Builds the record of an approval and compares it with its current subject. */
export async function shownApproval(context: Context, row: ApprovalRow): Promise<Approval> {
  return approvalOf(row, await presentSubjectOf(context, row));
}

/** @throws Refusal `not_found` */
export async function getApprovalRow(context: Context, approvalId: string): Promise<ApprovalRow> {
  const row = (await context.db.row(findApproval(context.tenantId, approvalId))) ?? fail('not_found');
  await requireSightOfPlace(context, row);
  return row;
}
