import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type StatusCategory, statusCategories } from '../task-types/lifecycle.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { priorityIndex, requireNoGoal, requireNoProject, requireNoWorkspace } from '../tasks/task-fields.ts';
import { findTasks, type TaskOrder } from './task-list.sql.ts';

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
  requireNoWorkspace(query.workspaceId);
  requireNoProject(query.projectId);
  requireNoGoal(query.goalId);
  const { startFrom, startTo, dueFrom, dueTo } = query;
  const dates = { startFrom, startTo, dueFrom, dueTo };
  const filter = { status, category, typeKey, priority, ownerId, assigneeId, ...dates, terms };
  return listPage(context.db, findTasks(context.tenantId, filter, order, page), taskOf);
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
