import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { requireKnownPrincipals } from '../../access/principals/principals.ts';
import { requireEvidenceTargets } from '../../definitions/acceptance/evidence.ts';
import { defaultOrigin, parseOrigin, summarizeOrigin } from '../../definitions/acceptance/origin.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { enterWorkspace } from '../../organisation/workspaces/workspaces.ts';
import { refuseSecretText } from '../../service/documents.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { parseCriteria } from './criteria.ts';
import {
  desiredStateCharactersMax,
  type Goal,
  type GoalRequest,
  type GoalRow,
  goalLevelsMax,
  goalOf,
  goalStatuses,
} from './goal.ts';
import { goalCreated } from './goals.events.ts';
import { findGoal, insertGoal, listOfGoals, shareGoalsLock, takeGoalsLock } from './goals.sql.ts';

/**
 * Creates a goal (docs/reference/comments-and-goals.md#goals).
 * @throws Refusal `invalid_title`, `secret_material_rejected`, `invalid_acceptance`, `duplicate_check_key`,
 * `payload_too_large`, `payload_too_deep`, `invalid_desired_state`, `invalid_origin`, `duplicate_evidence`,
 * `not_found`, `workspace_archived`, `goal_workspace_mismatch`, `goal_too_deep`
 */
export async function createGoal(context: Context, request: GoalRequest): Promise<Goal> {
  const { db, tenantId, caller } = context;
  const { title, ownerId = null, workspaceId = null, parentGoalId = null } = request;
  requireTexts(request);
  const criteria = parseCriteria(request.criteria);
  requireDesiredState(request.desiredState);
  const createdFrom =
    request.createdFrom == null
      ? defaultOrigin(undefined, caller.kind === 'human')
      : parseOrigin(request.createdFrom, 'createdFrom');
  await requireEvidenceTargets(context, createdFrom.evidence);
  await requireOwner(context, ownerId);
  if (workspaceId !== null) await enterWorkspace(context, workspaceId);
  await requireMayFile(context, 'goals.write', workspaceId);
  const id = newId();
  const above = parentGoalId === null ? [] : await placeBelow(context, parentGoalId, workspaceId);
  const row = await db.row(
    insertGoal({
      id,
      tenant_id: tenantId,
      workspace_id: workspaceId,
      title,
      desired_state: request.desiredState,
      criteria,
      owner_id: ownerId,
      created_from: createdFrom,
      parent_goal_id: parentGoalId,
      path: [...above, id],
      created_by: caller.principalId,
    }),
  );
  if (row === undefined) throw new Error('a new goal was not stored');
  emit(
    context,
    goalCreated,
    { entityId: id, workspaceId },
    {
      goalId: id,
      title: eventText(title),
      status: row.status,
      workspaceId,
      ownerId,
      parentGoalId,
      criteriaCount: criteria.length,
      createdFrom: summarizeOrigin(createdFrom),
    },
  );
  return goalOf(row);
}

async function placeBelow(
  context: Context,
  parentGoalId: string,
  workspaceId: string | null,
): Promise<string[]> {
  await lockGoals(context);
  const parent = await getGoalRow(context, parentGoalId);
  requireCommonWorkspace(parent, workspaceId);
  requireLevels(parent.path.length + 1);
  return parent.path;
}

/** @throws Refusal `invalid_title` for a blank one, `secret_material_rejected` */
export function requireTexts({
  title,
  desiredState,
}: {
  title?: string | null | undefined;
  desiredState?: string | null | undefined;
}): void {
  if (title != null && title.trim() === '') fail('invalid_title');
  if (title != null) refuseSecretText(title, 'title');
  if (desiredState != null) refuseSecretText(desiredState, 'desiredState');
}

/** @throws Refusal `invalid_desired_state` */
export function requireDesiredState(text: string): void {
  if (Array.from(text).length > desiredStateCharactersMax)
    fail('invalid_desired_state', { maxLength: desiredStateCharactersMax });
}

/** @throws Refusal `not_found` */
export async function requireOwner(context: Context, ownerId: string | null | undefined): Promise<void> {
  if (ownerId != null) await requireKnownPrincipals(context, [ownerId]);
}

/**
 * A goal's parent must belong to the same workspace, or to the whole tenant. @throws Refusal `goal_workspace_mismatch`
 */
export function requireCommonWorkspace(parent: GoalRow, workspaceId: string | null): void {
  if (parent.workspace_id === null || parent.workspace_id === workspaceId) return;
  const { id: parentGoalId, workspace_id: parentWorkspaceId } = parent;
  fail('goal_workspace_mismatch', { workspaceId, parentGoalId, parentWorkspaceId });
}

/** @throws Refusal `goal_too_deep` */
export function requireLevels(levels: number): void {
  if (levels > goalLevelsMax) fail('goal_too_deep', { maxLevels: goalLevelsMax });
}

/** Acquired by every change to goals, after the locks on tasks and on the workspace tree. */
export async function lockGoals({ db, tenantId }: Context): Promise<void> {
  await db.run(takeGoalsLock(tenantId));
}

/** @throws Refusal `not_found` */
export async function getGoal(context: Context, id: string): Promise<Goal> {
  return goalOf(await getGoalRow(context, id));
}

/** Reads a goal that the caller can see. @throws Refusal `not_found` */
export async function getGoalRow(context: Context, id: string): Promise<GoalRow> {
  const row = (await context.db.row(findGoal(context.tenantId, id))) ?? fail('not_found', { goalId: id });
  await requireSight(context, row.workspace_id, { goalId: id });
  return row;
}

/**
 * Reads a goal for a task of this workspace; the goal can't be abandoned before the command ends.
 * @throws Refusal `not_found` also for a goal in another workspace, `goal_abandoned`
 */
export async function requireGoalForTask(
  context: Context,
  goalId: string,
  workspaceId: string | null,
): Promise<void> {
  await context.db.run(shareGoalsLock(context.tenantId));
  const goal = await getGoalRow(context, goalId);
  if (goal.workspace_id !== null && goal.workspace_id !== workspaceId) fail('not_found', { goalId });
  if (goal.status === 'abandoned') fail('goal_abandoned', { goalId });
}

/**
 * A moved task can only keep its goal if the goal belongs to the new workspace or to the whole tenant.
 * @throws Refusal `goal_workspace_mismatch`
 */
export async function requireGoalStays(
  { db, tenantId }: Context,
  goalId: string,
  workspaceId: string | null,
): Promise<void> {
  const goal = await db.row(findGoal(tenantId, goalId));
  if (goal === undefined || goal.workspace_id === null || goal.workspace_id === workspaceId) return;
  fail('goal_workspace_mismatch', { goalId, workspaceId, goalWorkspaceId: goal.workspace_id });
}

export interface GoalQuery {
  status?: string | undefined;
  workspaceId?: string | undefined;
  ownerId?: string | undefined;
  parentGoalId?: string | undefined;
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listGoals(context: Context, query: GoalQuery, page: Page): Promise<ItemPage<Goal>> {
  const { status, workspaceId, ownerId, parentGoalId } = query;
  if (status !== undefined && !goalStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: goalStatuses });
  const filter = { status, workspace_id: workspaceId, owner_id: ownerId, parent_goal_id: parentGoalId };
  return listSeen(context.db, await viewerOf(context), listOfGoals(context.tenantId, filter), page, goalOf);
}
