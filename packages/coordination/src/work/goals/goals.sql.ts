import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { GoalRow } from './goal.ts';

/** Serializes changes to the tenant's goals until the commit; analogous to the lock on the workspace tree. */
export function takeGoalsLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`goals/${tenantId}`}, 0))`;
}

/** A share lock that prevents changes to the tenant's goals until the commit. */
export function shareGoalsLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock_shared(hashtextextended(${`goals/${tenantId}`}, 0))`;
}

export function findGoal(tenantId: string, id: string) {
  return sql<GoalRow>`select * from goals where id = ${id} and tenant_id = ${tenantId}`;
}

export type NewGoal = Pick<
  GoalRow,
  | 'id'
  | 'tenant_id'
  | 'workspace_id'
  | 'title'
  | 'desired_state'
  | 'criteria'
  | 'owner_id'
  | 'created_from'
  | 'parent_goal_id'
  | 'path'
  | 'created_by'
>;

export function insertGoal(goal: NewGoal) {
  return sql<GoalRow>`
    insert into goals (id, tenant_id, workspace_id, title, desired_state, criteria, owner_id, created_from, parent_goal_id,
      path, created_by)
    values (${goal.id}, ${goal.tenant_id}, ${goal.workspace_id}, ${goal.title}, ${goal.desired_state},
      ${JSON.stringify(goal.criteria)}, ${goal.owner_id}, ${JSON.stringify(goal.created_from)}, ${goal.parent_goal_id},
      ${goal.path}, ${goal.created_by})
    returning *`;
}

export type GoalValues = Pick<
  GoalRow,
  'title' | 'desired_state' | 'criteria' | 'owner_id' | 'status' | 'parent_goal_id'
>;

/** A status change sets or clears the time at which the goal was closed. */
export function updateGoalValues(tenantId: string, id: string, values: GoalValues) {
  return sql<GoalRow>`
    update goals
    set title = ${values.title}, desired_state = ${values.desired_state}, criteria = ${JSON.stringify(values.criteria)},
      owner_id = ${values.owner_id}, status = ${values.status}, parent_goal_id = ${values.parent_goal_id},
      closed_at = case when ${values.status} = 'active' then null when status = ${values.status} then closed_at else now() end,
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** The number of levels below a goal; 0 for one without subgoals. */
export function findLevelsBelow(tenantId: string, { id, path }: Pick<GoalRow, 'id' | 'path'>) {
  return sql<{ levels: number }>`
    select max(cardinality(path)) - ${path.length}::integer as levels from goals
    where tenant_id = ${tenantId} and path @> array[${id}::uuid]`;
}

/** Moves a goal with all its subgoals below another. @param pathAbove empty for none */
export function updateGoalPaths(
  tenantId: string,
  { id, path }: Pick<GoalRow, 'id' | 'path'>,
  pathAbove: readonly string[],
) {
  return sql`
    update goals set path = ${pathAbove}::uuid[] || path[${path.length}::integer:]
    where tenant_id = ${tenantId} and path @> array[${id}::uuid]`;
}

const build = queryBuilder<{ goals: GoalRow }>();

const newestFirst: ListOrder<GoalRow> = {
  cursor: 'goals',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type GoalFilter = {
  readonly [Column in 'status' | 'workspace_id' | 'owner_id' | 'parent_goal_id']: string | undefined;
};

export function listOfGoals(tenantId: string, filter: GoalFilter): SeenList<GoalRow> {
  const foundIn = (source: 'goals') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  return seenByPlace(tenantId, 'goals', foundIn, newestFirst);
}
