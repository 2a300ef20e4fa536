import { queryBuilder } from '@baton/kernel/database/db';
import {
  condition,
  fragment,
  type ListOrder,
  matching,
  ownedPageQuery,
  type PageQuery,
  pageQuery,
  reference,
  rowsWhere,
} from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import { statusCategories } from '../../definitions/task-types/lifecycle.ts';
import type { TaskTypeRow } from '../../definitions/task-types/task-type.ts';
import { placesSeenBy, type SeenList, tasksSeenBy } from '../../service/sight/places.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { patternsOf } from './task-search.sql.ts';

type Columns = Omit<TaskRow, 'type_key' | 'type_version' | 'project_id'>;
type TypeColumns = Pick<TaskTypeRow, 'id' | 'key' | 'version'>;
type Joined = { t: Columns; tt: TypeColumns };
const build = queryBuilder<{ tasks: Columns; task_types: TypeColumns }>();

/** The filters of a task list; absent members don't filter. */
export interface TaskFilter {
  status?: string | undefined;
  /** Never empty. */
  categories?: readonly TaskRow['category'][] | undefined;
  /** Never empty. */
  typeIds?: readonly string[] | undefined;
  /** Set if a key has too many versions, in which case they are not listed. */
  typeKey?: string | undefined;
  priority?: number | undefined;
  ownerId?: string | undefined;
  assigneeId?: string | undefined;
  startFrom?: string | undefined;
  startTo?: string | undefined;
  dueFrom?: string | undefined;
  dueTo?: string | undefined;
  /** Only the tasks with these ids. */
  ids?: readonly string[] | undefined;
  /**
   * Each term must occur in the title, the description or the public id, in upper or lower case. With this filter,
   * every task of the list is read.
   */
  terms?: readonly string[] | undefined;
  workspace?: WorkspaceScope | undefined;
  goal?: GoalScope | undefined;
}

const table = 't';

/**
 * Tasks newest first, or by a date with the nearest first. Undated tasks sort as if their date were the end of time.
 */
export const orders = {
  createdAt: {
    cursor: 'tasks:createdAt',
    table,
    columns: { created_at: 'timestamp', id: 'uuid' },
    direction: 'desc',
  },
  startDate: {
    cursor: 'tasks:startDate',
    table,
    columns: { start_date: 'timestamp?', id: 'uuid' },
    direction: 'asc',
  },
  dueDate: {
    cursor: 'tasks:dueDate',
    table,
    columns: { due_date: 'timestamp?', id: 'uuid' },
    direction: 'asc',
  },
} as const satisfies Record<string, ListOrder<TaskRow>>;
export type TaskOrder = keyof typeof orders;

/** A goal, optionally with all its subgoals. */
export interface GoalScope {
  readonly id: string;
  readonly includeSubgoals: boolean;
}

export function listOfTasks(tenantId: string, filter: TaskFilter, order: TaskOrder): SeenList<TaskRow> {
  const isNarrowed = Object.values(filter).some((value) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined,
  );
  const ordered = order === 'createdAt';
  return {
    all: (page) => findTasks(tenantId, filter, order, page),
    filedBy: 'workspace',
    seen: (viewerId, page) => findSeenTasks(tenantId, filter, viewerId, order, page),
    lookups: (viewerId) =>
      ordered && !isNarrowed ? placesSeenBy(tenantId, viewerId) : tasksSeenBy(tenantId, viewerId),
  };
}

function findTasks(tenantId: string, filter: TaskFilter, order: TaskOrder, page: Page): PageQuery<TaskRow> {
  const query = filtered(filter).where('t.tenant_id', '=', tenantId);
  const { workspace, goal, ids } = filter;
  if (ids !== undefined)
    return pageQuery<Joined, 't' | 'tt', TaskRow>(among(query, tenantId, filter), orders[order], page);
  const owned = (owners: ReturnType<typeof workspacesOf>, part: typeof query) =>
    ownedPageQuery<Joined, 't' | 'tt', TaskRow>([{ owners, part, headsFirst: true }], orders[order], page);
  if (goal !== undefined) {
    const inIt = query.where(condition`t.goal_id = owner.id and t.goal_id is not null`);
    if (workspace === undefined) return owned(goalsOf(tenantId, goal), inIt);
    const inBoth = inIt.where(condition`t.workspace_id in (${workspacesOf(tenantId, workspace)})`);
    return owned(goalsOf(tenantId, goal), inBoth);
  }
  if (workspace === undefined) return pageQuery<Joined, 't' | 'tt', TaskRow>(query, orders[order], page);
  return owned(workspacesOf(tenantId, workspace), query.where(ofOwner));
}

/** The owner is the task's workspace or, without one, the tenant, as in the index `tasks_of_place`. */
const ofOwner = condition`coalesce(t.workspace_id, t.tenant_id) = owner.id`;

/** The same page, read separately from each workspace that a person can see. */
function findSeenTasks(
  tenantId: string,
  filter: TaskFilter,
  viewerId: string,
  order: TaskOrder,
  page: Page,
): PageQuery<TaskRow> {
  const { workspace, goal } = filter;
  const inOrder = order === 'createdAt';
  const sorted = inOrder ? { order: { ...orders[order], table: undefined }, page } : undefined;
  const inPlace = rowsWhere(
    'tasks',
    condition`coalesce(workspace_id, tenant_id) = owner.id`,
    sorted as Parameters<typeof rowsWhere>[2],
  );
  let part = filtered(filter, inPlace);
  if (goal !== undefined) part = part.where(condition`t.goal_id in (${goalsOf(tenantId, goal)})`);
  if (workspace !== undefined)
    part = part.where(condition`t.workspace_id in (${workspacesOf(tenantId, workspace)})`);
  const owners = fragment`select id from (${placesSeenBy(tenantId, viewerId)}) as place (id)`;
  return ownedPageQuery<Joined, 't' | 'tt', TaskRow>(
    [{ owners, part, headsFirst: inOrder }],
    orders[order],
    page,
  );
}

/** Filters a few tasks to those in the workspace and under the goal, each looked up by its id. */
function among(query: ReturnType<typeof filtered>, tenantId: string, { workspace, goal }: TaskFilter) {
  let narrowed = query;
  if (workspace !== undefined)
    narrowed = narrowed.where(condition`t.workspace_id in (${workspacesOf(tenantId, workspace)})`);
  if (goal !== undefined) narrowed = narrowed.where(condition`t.goal_id in (${goalsOf(tenantId, goal)})`);
  return narrowed;
}

function workspacesOf(tenantId: string, { within, itself, projectId }: WorkspaceScope) {
  return fragment`
    select id from workspaces
    where tenant_id = ${tenantId} and path @> ${within}::uuid[] and (${itself}::uuid is null or id = ${itself}::uuid)
      and (${projectId}::uuid is null or project_id = ${projectId}::uuid)`;
}

function goalsOf(tenantId: string, { id, includeSubgoals }: GoalScope) {
  return fragment`
    select id from goals
    where tenant_id = ${tenantId} and path @> array[${id}::uuid] and (${includeSubgoals} or id = ${id})`;
}

function filtered(filter: TaskFilter, source?: ReturnType<typeof rowsWhere>) {
  const all = build
    .selectFrom(source === undefined ? 'tasks as t' : (source.as('t') as unknown as 'tasks as t'))
    .innerJoin('task_types as tt', 'tt.id', 't.type_id')
    .selectAll('t')
    .select(['tt.key as type_key', 'tt.version as type_version'])
    .select(
      fragment<string | null>`(select project_id from workspaces where id = t.workspace_id)`.as('project_id'),
    );
  let query = matching(all, {
    't.status': filter.status,
    't.priority': filter.priority,
    'tt.key': filter.typeKey,
    't.owner_id': filter.ownerId,
    't.assignee_id': filter.assigneeId,
  });
  if (filter.categories !== undefined) query = query.where('t.category', 'in', filter.categories);
  if (filter.startFrom !== undefined) query = query.where(dated('start_date', '>=', filter.startFrom));
  if (filter.startTo !== undefined) query = query.where(dated('start_date', '<=', filter.startTo));
  if (filter.dueFrom !== undefined) query = query.where(dated('due_date', '>=', filter.dueFrom));
  if (filter.dueTo !== undefined) query = query.where(dated('due_date', '<=', filter.dueTo));
  if (filter.typeIds !== undefined) query = query.where('t.type_id', 'in', filter.typeIds);
  if (filter.ids !== undefined) query = query.where(condition`t.id = any (${filter.ids}::uuid[])`);
  return filter.terms === undefined ? query : query.where(holding(filter.terms));
}

/** A date as in the indexes `tasks_by_start` and `tasks_by_due`, where undated tasks sort as the end of time. */
function dated(column: 'start_date' | 'due_date', comparison: '>=' | '<=', value: string) {
  const date = fragment`coalesce(${reference(`t.${column}`)}, 'infinity')`;
  return comparison === '>='
    ? condition`(${date} >= ${value}::timestamptz and ${date} < 'infinity')`
    : condition`(${date} <= ${value}::timestamptz and ${date} < 'infinity')`;
}

/**
 * A subquery of one row. It makes PostgreSQL read the tasks in the list's order and compare each one with the terms.
 */
function holding(terms: readonly string[]) {
  return condition`(
    select lower(s.words) like all (array(select lower(p) from unnest(${patternsOf(terms)}::text[]) as p))
    from task_search s where s.task_id = t.id)`;
}

/** The types with this key, in all versions, up to the limit. */
export function findTypeIds(tenantId: string, key: string, rowsMax: number) {
  return sql<{ id: string }>`
    select id from task_types where tenant_id = ${tenantId} and key = ${key} limit ${rowsMax}`;
}

/** The categories of a status in the tenant's types, each with the types that have it, up to the limit. */
export function findPlacesOfStatus(tenantId: string, status: string, typesMax: number) {
  return sql<{ category: TaskRow['category']; type_ids: string[] }>`
    select c.category, types.ids as type_ids
    from unnest(${statusCategories}::text[]) as c(category), lateral (
      select coalesce(array_agg(listed.type_id), '{}') as ids from (
        select type_id from task_type_statuses s
        where s.tenant_id = ${tenantId} and s.key = ${status} and s.category = c.category limit ${typesMax}
      ) listed
    ) types
    where types.ids <> '{}'`;
}
