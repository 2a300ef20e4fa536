import {
  condition,
  fragment,
  type ListOrder,
  ownedPageQuery,
  type PageQuery,
  pageQuery,
  rowsWhere,
  type SelectQueryBuilder,
} from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';

/**
 * What decides a row's visibility, for each value: its own workspace; its task; its task or, without one, its own
 * workspace; the row itself, if it is a workspace; its own workspace and its role; or its session.
 */
export type FiledBy = 'workspace' | 'task' | 'taskOrWorkspace' | 'itself' | 'workspaceAndRole' | 'session';

/** A list of which some people see only a part. See docs/reference/README.md#visibility. */
export interface SeenList<Row> {
  /** The page for a caller that sees everything. */
  all(page: Page): PageQuery<Row>;
  readonly filedBy: FiledBy;
  /** The page for a person, read from the visible rows only. */
  seen(viewerId: string, page: Page): PageQuery<Row>;
  /** A query with the number of rows that `seen` looks up, apart from those of the page. */
  lookups(viewerId: string): ReturnType<typeof fragment>;
}

/** The workspaces that a person sees: the person's own and their descendants. */
export function workspacesSeenBy(viewerId: string) {
  return fragment`select id from workspaces_seen_by(${viewerId}::uuid) as seen (id)`;
}

/**
 * The places whose objects a person sees: the visible workspaces and the tenant itself. A row's place is
 * `coalesce(workspace_id, tenant_id)`, as in the indexes.
 */
export function placesSeenBy(tenantId: string, viewerId: string) {
  return fragment`${workspacesSeenBy(viewerId)} union all select ${tenantId}::uuid`;
}

/** The tasks that a person sees. */
export function tasksSeenBy(tenantId: string, viewerId: string) {
  return fragment`
    select task.id from (${placesSeenBy(tenantId, viewerId)}) as place
    cross join lateral (select id from tasks where coalesce(workspace_id, tenant_id) = place.id offset 0) as task`;
}

/**
 * A list whose rows belong to a workspace or to none, newest first, with an index by workspace.
 * @param foundIn the rows of the list in this source
 */
export function seenByPlace<DB, TB extends keyof DB & string, Row>(
  tenantId: string,
  table: TB,
  foundIn: (source: TB) => SelectQueryBuilder<DB, TB, Row>,
  order: ListOrder<Row>,
): SeenList<Row> {
  const ofOwner = condition`coalesce(workspace_id, tenant_id) = owner.id`;
  const owners = (viewerId: string) =>
    fragment`select id from (${placesSeenBy(tenantId, viewerId)}) as place (id)`;
  return {
    all: (page) => pageQuery(foundIn(table), order, page),
    filedBy: 'workspace',
    seen: (viewerId, page) => {
      const source = rowsWhere(table, ofOwner, { order, page }).as(table) as unknown as TB;
      return ownedPageQuery(
        [{ owners: owners(viewerId), part: foundIn(source), headsFirst: true }],
        order,
        page,
      );
    },
    lookups: (viewerId) => fragment`
      select found.id from (${owners(viewerId)}) as owner
      cross join lateral (select id from ${fragment.table(table)} where ${ofOwner} offset 0) as found`,
  };
}

/**
 * A list whose rows belong to a task, a workspace or neither; if a row has both, the task decides. @param ofTask the
 * condition for rows of the task `owner.id`
 */
export function seenByTaskOrPlace<DB, TB extends keyof DB & string, Row>(
  tenantId: string,
  table: TB,
  foundIn: (source: TB) => SelectQueryBuilder<DB, TB, Row>,
  order: ListOrder<Row>,
  ofTask: ReturnType<typeof condition>,
): SeenList<Row> {
  const withoutTask = condition`coalesce(workspace_id, tenant_id) = owner.id and task_id is null`;
  const owned = (owners: ReturnType<typeof fragment>, holds: ReturnType<typeof condition>) => ({
    owners,
    part: foundIn(rowsWhere(table, holds).as(table) as unknown as TB),
    headsFirst: false,
  });
  return {
    all: (page) => pageQuery(foundIn(table), order, page),
    filedBy: 'taskOrWorkspace',
    seen: (viewerId, page) => {
      const places = fragment`select id from (${placesSeenBy(tenantId, viewerId)}) as place (id)`;
      const parts = [owned(tasksSeenBy(tenantId, viewerId), ofTask), owned(places, withoutTask)];
      return ownedPageQuery(parts, order, page);
    },
    lookups: (viewerId) => fragment`
      ${tasksSeenBy(tenantId, viewerId)} union all
      select found.id from (${placesSeenBy(tenantId, viewerId)}) as owner cross join lateral (
        select id from ${fragment.table(table)} where ${withoutTask} offset 0) as found`,
  };
}
