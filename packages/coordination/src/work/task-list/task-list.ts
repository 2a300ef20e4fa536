import { type ItemPage, itemsOf } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { type StatusCategory, statusCategories } from '../../definitions/task-types/lifecycle.ts';
import { findSeenRows, listSeen } from '../../service/sight/seen-list.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { getGoalRow } from '../goals/goals.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { priorityIndex, type ScopeQuery, workspaceScopeOf } from '../tasks/task-fields.ts';
import {
  findPlacesOfStatus,
  findTypeIds,
  listOfTasks,
  type TaskFilter,
  type TaskOrder,
} from './task-list.sql.ts';
import { searchTasks } from './task-search.ts';
import { readRowsWithin } from './tasks-within.ts';

const statusLengthMax = 64;
const searchLengthMax = 200;
const searchTermsMax = 10;
/** The maximum number of types that a statement lists by id. */
const typesListedMax = 50;

/** The query of `GET /tasks`. */
export interface TaskQuery extends ScopeQuery {
  status?: string | undefined;
  systemStatusCategory?: string | undefined;
  typeKey?: string | undefined;
  priority?: string | undefined;
  ownerId?: string | undefined;
  assigneeId?: string | undefined;
  goalId?: string | undefined;
  startFrom?: string | undefined;
  startTo?: string | undefined;
  dueFrom?: string | undefined;
  dueTo?: string | undefined;
  sort?: string | undefined;
  q?: string | undefined;
}

/** A page of tasks (docs/reference/tasks.md#list). */
export async function listTasks(context: Context, query: TaskQuery, page: Page): Promise<ItemPage<Task>> {
  const { status, systemStatusCategory: category, typeKey, ownerId, assigneeId } = query;
  if (status !== undefined && status.length > statusLengthMax)
    fail('invalid_status', { maxLength: statusLengthMax });
  if (category !== undefined && !statusCategories.includes(category as StatusCategory))
    fail('invalid_status_category', { known: statusCategories });
  const priority = query.priority === undefined ? undefined : priorityIndex(query.priority);
  const terms = termsOf(query.q ?? '');
  const order = orderOf(query.sort);
  const viewerId = await viewerOf(context);
  const workspace = await workspaceScopeOf(context, query);
  const goal = query.goalId === undefined ? undefined : await goalScopeOf(context, query.goalId, false);
  const { startFrom, startTo, dueFrom, dueTo } = query;
  const dates = { startFrom, startTo, dueFrom, dueTo };
  const places = await placesOf(context, status);
  const categories = category === undefined ? places?.categories : [category];
  const versions = await versionsOf(context, typeKey);
  const filter = {
    status,
    categories,
    typeIds: versions?.typeIds ?? (versions === undefined ? places?.typeIds : undefined),
    typeKey: versions !== undefined && versions.typeIds === undefined ? typeKey : undefined,
    priority,
    ownerId,
    assigneeId,
    ...dates,
    workspace,
    goal,
  };
  const listWith = (text: Pick<TaskFilter, 'ids' | 'terms'>) =>
    listOfTasks(context.tenantId, { ...filter, ...text } as TaskFilter, order);
  const list = listWith({});
  // Called because it refuses a cursor from another list, even if nothing can match.
  list.all(page);
  if (places?.categories.length === 0 || versions?.typeIds?.length === 0)
    return { items: [], nextCursor: null };
  // Everything below a visible workspace is visible too.
  const viewer = workspace === undefined ? viewerId : null;
  if (terms.length === 0 && workspace !== undefined && workspace.itself === null && goal === undefined) {
    const everywhere = listOfTasks(
      context.tenantId,
      { ...filter, workspace: undefined } as TaskFilter,
      order,
    );
    const byIds = (ids: readonly string[]) => listOfTasks(context.tenantId, { ids }, order);
    const found = await readRowsWithin(
      context,
      { scope: workspace, everywhere, inPlaces: list, byIds },
      page,
    );
    return itemsOf(found, list.all(page), taskOf);
  }
  if (terms.length === 0) return listSeen(context.db, viewer, list, page, taskOf);
  const rowsWith = (text: Pick<TaskFilter, 'ids' | 'terms'>) =>
    findSeenRows(context.db, viewer, listWith(text), page);
  return itemsOf(await searchTasks(context, { terms, order, page, rowsWith }), list.all(page), taskOf);
}

/**
 * Lists the tasks of a goal and, with `includeSubgoals`, of all goals below it
 * (docs/reference/comments-and-goals.md#goals).
 * @throws Refusal `not_found`, `invalid_status_category`, `invalid_cursor`
 */
export async function listGoalWork(
  context: Context,
  goalId: string,
  query: { includeSubgoals?: boolean | undefined; systemStatusCategory?: string | undefined },
  page: Page,
): Promise<ItemPage<Task>> {
  const goal = await goalScopeOf(context, goalId, query.includeSubgoals === true);
  const { systemStatusCategory: category } = query;
  if (category !== undefined && !statusCategories.includes(category as StatusCategory))
    fail('invalid_status_category', { known: statusCategories });
  const categories = category === undefined ? undefined : [category as StatusCategory];
  const list = listOfTasks(context.tenantId, { categories, goal }, 'createdAt');
  return listSeen(context.db, await viewerOf(context), list, page, taskOf);
}

async function goalScopeOf(context: Context, goalId: string, includeSubgoals: boolean) {
  const { id } = await getGoalRow(context, goalId);
  return { id, includeSubgoals };
}

/**
 * No index contains the status, which every claim changes. The most selective filters that have an index are the
 * status's categories and, if there are few, its types.
 */
async function placesOf({ db, tenantId }: Context, status: string | undefined) {
  if (status === undefined) return undefined;
  const places = await db.rows(findPlacesOfStatus(tenantId, status, typesListedMax + 1));
  const categories = places.map(({ category }) => category);
  const typeIds = places.flatMap(({ type_ids }) => type_ids);
  return { categories, typeIds: typeIds.length > typesListedMax ? undefined : typeIds };
}

/** The versions of a type. They are not listed if their number exceeds the limit. */
async function versionsOf({ db, tenantId }: Context, key: string | undefined) {
  if (key === undefined) return undefined;
  const typeIds = (await db.rows(findTypeIds(tenantId, key, typesListedMax + 1))).map(({ id }) => id);
  return { typeIds: typeIds.length > typesListedMax ? undefined : typeIds };
}

function termsOf(search: string): string[] {
  const terms = search.split(/\s+/).filter(Boolean);
  if (search.length > searchLengthMax || terms.length > searchTermsMax)
    fail('invalid_search', { maxLength: searchLengthMax, maxTerms: searchTermsMax });
  return terms;
}

function orderOf(sort: string | undefined): TaskOrder {
  if (sort === undefined) return 'createdAt';
  return sort === 'startDate' || sort === 'dueDate'
    ? sort
    : fail('invalid_sort', { allowed: ['startDate', 'dueDate'] });
}
