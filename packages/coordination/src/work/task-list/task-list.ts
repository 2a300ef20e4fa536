import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { type StatusCategory, statusCategories } from '../../definitions/task-types/lifecycle.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { priorityIndex, requireNoGoal, requireNoProject, workspaceScopeOf } from '../tasks/task-fields.ts';
import {
  findCategoriesOf,
  findTasks,
  findTypeIds,
  type TaskFilter,
  type TaskOrder,
} from './task-list.sql.ts';

const statusLengthMax = 64;
const searchLengthMax = 200;
const searchTermsMax = 10;

/** The query of `GET /tasks`. */
export interface TaskQuery {
  status?: string | undefined;
  systemStatusCategory?: string | undefined;
  typeKey?: string | undefined;
  priority?: string | undefined;
  ownerId?: string | undefined;
  assigneeId?: string | undefined;
  workspaceId?: string | undefined;
  includeDescendants?: boolean | undefined;
  projectId?: string | undefined;
  goalId?: string | undefined;
  startFrom?: string | undefined;
  startTo?: string | undefined;
  dueFrom?: string | undefined;
  dueTo?: string | undefined;
  sort?: string | undefined;
  q?: string | undefined;
}

/** A page of tasks (core, section 8.3). */
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
  requireNoProject(query.projectId);
  requireNoGoal(query.goalId);
  const { startFrom, startTo, dueFrom, dueTo } = query;
  const dates = { startFrom, startTo, dueFrom, dueTo };
  const categories = category === undefined ? await categoriesOf(context, status) : [category];
  const typeIds = await typeIdsOf(context, typeKey);
  const filter = {
    status,
    categories,
    typeIds,
    priority,
    ownerId,
    assigneeId,
    ...dates,
    terms,
    workspace,
    viewerId,
  };
  const found = findTasks(context.tenantId, filter as TaskFilter, order, page);
  // Made before: a cursor of another list is refused even where nothing can be found.
  if (categories?.length === 0 || typeIds?.length === 0) return { items: [], nextCursor: null };
  return listPage(context.db, found, taskOf);
}

/** No index holds the status, which every claim changes: its categories are the next narrower thing that one holds. */
async function categoriesOf({ db, tenantId }: Context, status: string | undefined) {
  if (status === undefined) return undefined;
  return (await db.rows(findCategoriesOf(tenantId, status))).map(({ category }) => category);
}

async function typeIdsOf({ db, tenantId }: Context, key: string | undefined) {
  if (key === undefined) return undefined;
  return (await db.rows(findTypeIds(tenantId, key))).map(({ id }) => id);
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
