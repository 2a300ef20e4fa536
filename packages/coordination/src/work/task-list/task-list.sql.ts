import { queryBuilder } from '@baton/kernel/db';
import { decodeCursor, type Page } from '@baton/kernel/paging';
import { compiled } from '@baton/kernel/sql';
import type { TaskRow } from '../tasks/task.ts';

type Columns = Omit<TaskRow, 'type_key' | 'type_version'>;
const build = queryBuilder<{ tasks: Columns; task_types: { id: string; key: string; version: number } }>();

/** What a list of tasks is narrowed to; an absent member narrows nothing. */
export interface TaskFilter {
  status?: string | undefined;
  category?: string | undefined;
  typeKey?: string | undefined;
  priority?: number | undefined;
  ownerId?: string | undefined;
  assigneeId?: string | undefined;
  startFrom?: string | undefined;
  startTo?: string | undefined;
  dueFrom?: string | undefined;
  dueTo?: string | undefined;
  /** Each one occurs in the title, the description or the public id, in any case. */
  terms: readonly string[];
}

export type TaskOrder = 'createdAt' | 'startDate' | 'dueDate';
export const taskOrderName = (order: TaskOrder) => `tasks:${order}`;

/** One page and one row more: newest first, or by a date with the nearest first and undated last. */
export function listTasks(tenantId: string, filter: TaskFilter, order: TaskOrder, page: Page) {
  const matching = filtered(filter)
    .where('t.tenant_id', '=', tenantId)
    .limit(page.limit + 1);
  return compiled<TaskRow>(
    order === 'createdAt'
      ? newestFirst(matching, page)
      : nearestFirst(matching, order === 'startDate' ? 't.start_date' : 't.due_date', order, page),
  );
}

function filtered(filter: TaskFilter) {
  let query = build
    .selectFrom('tasks as t')
    .innerJoin('task_types as tt', 'tt.id', 't.type_id')
    .selectAll('t')
    .select(['tt.key as type_key', 'tt.version as type_version']);
  const { status, category, typeKey, priority, ownerId, assigneeId, terms } = filter;
  if (status !== undefined) query = query.where('t.status', '=', status);
  if (category !== undefined) query = query.where('t.category', '=', category as Columns['category']);
  if (typeKey !== undefined) query = query.where('tt.key', '=', typeKey);
  if (priority !== undefined) query = query.where('t.priority', '=', priority);
  if (ownerId !== undefined) query = query.where('t.owner_id', '=', ownerId);
  if (assigneeId !== undefined) query = query.where('t.assignee_id', '=', assigneeId);
  if (filter.startFrom !== undefined) query = query.where('t.start_date', '>=', filter.startFrom);
  if (filter.startTo !== undefined) query = query.where('t.start_date', '<=', filter.startTo);
  if (filter.dueFrom !== undefined) query = query.where('t.due_date', '>=', filter.dueFrom);
  if (filter.dueTo !== undefined) query = query.where('t.due_date', '<=', filter.dueTo);
  for (const term of terms) {
    // The term is text, not a pattern: what LIKE would take for a wildcard is escaped.
    const pattern = `%${term.replaceAll(/[\\%_]/g, '\\$&')}%`;
    query = query.where(({ or, eb }) =>
      or([
        eb('t.title', 'ilike', pattern),
        eb('t.description', 'ilike', pattern),
        eb('t.public_id', 'ilike', pattern),
      ]),
    );
  }
  return query;
}

type Matching = ReturnType<typeof filtered>;

function newestFirst(query: Matching, page: Page): Matching {
  const ordered = query.orderBy('t.created_at', 'desc').orderBy('t.id', 'desc');
  if (page.cursor === undefined) return ordered;
  const [createdAt, id] = decodeCursor(taskOrderName('createdAt'), page.cursor, ['timestamp', 'uuid']);
  return ordered.where(({ eb, refTuple, tuple }) =>
    eb(refTuple('t.created_at', 't.id'), '<', tuple(createdAt as string, id as string)),
  );
}

/** Undated rows sort as if at the end of time, which is also how the index holds them. */
function nearestFirst(
  query: Matching,
  column: 't.start_date' | 't.due_date',
  order: TaskOrder,
  page: Page,
): Matching {
  const ordered = query.orderBy(({ fn, val }) => fn.coalesce(column, val('infinity'))).orderBy('t.id');
  if (page.cursor === undefined) return ordered;
  const [date, id] = decodeCursor(taskOrderName(order), page.cursor, ['timestamp?', 'uuid']);
  return ordered.where(({ eb, fn, val, refTuple, tuple }) =>
    eb(
      refTuple(fn.coalesce(column, val('infinity')), 't.id'),
      '>',
      tuple((date ?? 'infinity') as string, id as string),
    ),
  );
}
