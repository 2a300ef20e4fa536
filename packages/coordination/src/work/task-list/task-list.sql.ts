import { queryBuilder } from '@baton/kernel/db';
import { type ListOrder, matching, type PageQuery, pageQuery } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { TaskTypeRow } from '../task-types/task-type.ts';
import type { TaskRow } from '../tasks/task.ts';

type Columns = Omit<TaskRow, 'type_key' | 'type_version'>;
type TypeColumns = Pick<TaskTypeRow, 'id' | 'key' | 'version'>;
type Joined = { t: Columns; tt: TypeColumns };
const build = queryBuilder<{ tasks: Columns; task_types: TypeColumns }>();

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

const table = 't';

/** Tasks newest first, or by a date with the nearest first and undated last: as if they lay at the end of time. */
const orders = {
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

export function findTasks(
  tenantId: string,
  filter: TaskFilter,
  order: TaskOrder,
  page: Page,
): PageQuery<TaskRow> {
  return pageQuery<Joined, 't' | 'tt', TaskRow>(
    filtered(filter).where('t.tenant_id', '=', tenantId),
    orders[order],
    page,
  );
}

function filtered(filter: TaskFilter) {
  let query = build
    .selectFrom('tasks as t')
    .innerJoin('task_types as tt', 'tt.id', 't.type_id')
    .selectAll('t')
    .select(['tt.key as type_key', 'tt.version as type_version']);
  query = matching(query, {
    't.status': filter.status,
    't.category': filter.category,
    'tt.key': filter.typeKey,
    't.priority': filter.priority,
    't.owner_id': filter.ownerId,
    't.assignee_id': filter.assigneeId,
  });
  if (filter.startFrom !== undefined) query = query.where('t.start_date', '>=', filter.startFrom);
  if (filter.startTo !== undefined) query = query.where('t.start_date', '<=', filter.startTo);
  if (filter.dueFrom !== undefined) query = query.where('t.due_date', '>=', filter.dueFrom);
  if (filter.dueTo !== undefined) query = query.where('t.due_date', '<=', filter.dueTo);
  for (const term of filter.terms) {
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
