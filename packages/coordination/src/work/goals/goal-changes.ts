import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { parseCriteria } from './criteria.ts';
import { type Goal, type GoalChange, type GoalRow, goalOf, goalStatuses } from './goal.ts';
import { goalUpdated } from './goals.events.ts';
import { findLevelsBelow, type GoalValues, updateGoalPaths, updateGoalValues } from './goals.sql.ts';
import {
  getGoalRow,
  lockGoals,
  requireCommonWorkspace,
  requireDesiredState,
  requireLevels,
  requireOwner,
  requireTexts,
} from './goals.ts';

/**
 * Changes a goal (docs/reference/comments-and-goals.md#goals). Unchanged values have no effect.
 * @throws Refusal `not_found`, `version_conflict`, `empty_update`, those of the fields, `invalid_goal_status`,
 * `goal_cycle`, `goal_workspace_mismatch`, `goal_too_deep`
 */
export async function updateGoal(
  context: Context,
  id: string,
  ifMatch: number,
  change: GoalChange,
): Promise<Goal> {
  await lockGoals(context);
  const before = await getGoalRow(context, id);
  requireVersionOf('goal', before, ifMatch);
  if (Object.keys(change).length === 0) fail('empty_update');
  const { after, pathAbove } = await valuesAfter(context, before, change);
  const changes = differences(before, after);
  if (Object.keys(changes).length === 0) return goalOf(before);
  const { db, tenantId } = context;
  const row = await db.row(updateGoalValues(tenantId, id, after));
  if (row === undefined) throw new Error('a goal disappeared under the lock of goals');
  if (pathAbove !== undefined) await db.run(updateGoalPaths(tenantId, before, pathAbove));
  const moved = changes['status'] !== undefined && { fromStatus: before.status, status: row.status };
  emit(
    context,
    goalUpdated,
    { entityId: id, workspaceId: row.workspace_id },
    { goalId: id, changes, version: row.version, ...moved },
  );
  return goalOf(row);
}

async function valuesAfter(
  context: Context,
  before: GoalRow,
  change: GoalChange,
): Promise<{ after: GoalValues; pathAbove: readonly string[] | undefined }> {
  requireTexts(change);
  const criteria = change.criteria == null ? before.criteria : parseCriteria(change.criteria);
  if (change.desiredState != null) requireDesiredState(change.desiredState);
  await requireOwner(context, change.ownerId);
  const status = change.status == null ? before.status : requireStatus(change.status);
  const parentGoalId = change.parentGoalId === undefined ? before.parent_goal_id : change.parentGoalId;
  const moves = parentGoalId !== before.parent_goal_id;
  return {
    pathAbove: moves ? await placeBelow(context, before, parentGoalId) : undefined,
    after: {
      title: change.title ?? before.title,
      desired_state: change.desiredState ?? before.desired_state,
      criteria,
      owner_id: change.ownerId === undefined ? before.owner_id : change.ownerId,
      status,
      parent_goal_id: parentGoalId,
    },
  };
}

function requireStatus(status: string): GoalRow['status'] {
  return (
    goalStatuses.find((known) => known === status) ?? fail('invalid_goal_status', { allowed: goalStatuses })
  );
}

/** @returns the path of the new parent, empty for none */
async function placeBelow(
  context: Context,
  goal: GoalRow,
  parentGoalId: string | null,
): Promise<readonly string[]> {
  if (parentGoalId === null) return [];
  const cycle = { goalId: goal.id, parentGoalId };
  if (parentGoalId === goal.id) fail('goal_cycle', cycle);
  const parent = await getGoalRow(context, parentGoalId);
  if (parent.path.includes(goal.id)) fail('goal_cycle', cycle);
  requireCommonWorkspace(parent, goal.workspace_id);
  const below = await context.db.row(findLevelsBelow(context.tenantId, goal));
  requireLevels(parent.path.length + 1 + (below?.levels ?? 0));
  return parent.path;
}

function differences(before: GoalRow, after: GoalValues) {
  const changed = (column: keyof GoalValues) =>
    canonicalJson(before[column]) !== canonicalJson(after[column]);
  return {
    ...(changed('title') && { title: eventText(after.title) }),
    ...(changed('desired_state') && { desiredState: true as const }),
    ...(changed('criteria') && { criteria: after.criteria.length }),
    ...(changed('owner_id') && { ownerId: after.owner_id }),
    ...(changed('status') && { status: after.status }),
    ...(changed('parent_goal_id') && { parentGoalId: after.parent_goal_id }),
  } as Record<string, string | number | true | null>;
}
