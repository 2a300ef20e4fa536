import { queryBuilder } from '@baton/kernel/database/db';
import {
  condition,
  fragment,
  type ListOrder,
  matching,
  type PageQuery,
  pageQuery,
  rowsWhere,
} from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import { type SeenList, workspacesSeenBy } from '../../service/sight/places.ts';
import type { WorkspaceDetailRow, WorkspaceRow } from './workspace.ts';

export function findWorkspace(tenantId: string, id: string) {
  return sql<WorkspaceRow>`select * from workspaces where id = ${id} and tenant_id = ${tenantId}`;
}

/**
 * Finds a workspace with the list of allowed task types that applies to it: that of the nearest workspace that has one,
 * from the workspace itself upward; null if none has one.
 */
export function findWorkspaceDetail(tenantId: string, viewerId: string | null, id: string) {
  return sql<WorkspaceDetailRow>`
    select w.*, case when sees_workspace(${viewerId}, w.parent_id) then w.parent_id end as visible_parent_id, (
      select a.task_types from workspaces a
      where a.id = any (w.path) and a.tenant_id = w.tenant_id and a.task_types is not null
      order by cardinality(a.path) desc limit 1) as effective_task_types
    from workspaces w where w.id = ${id} and w.tenant_id = ${tenantId}`;
}

export function findSibling(tenantId: string, parentId: string | null, slug: string) {
  return sql<{ id: string }>`
    select id from workspaces
    where tenant_id = ${tenantId} and parent_id is not distinct from ${parentId}::uuid and slug = ${slug}`;
}

export interface NewWorkspace {
  id: string;
  tenantId: string;
  parentId: string | null;
  path: readonly string[];
  /** The project of the parent. */
  projectId: string | null;
  typeId: string;
  slug: string;
  name: string;
  description: string;
  customFields: JsonObject;
  calendarKey: string | null;
}

export function insertWorkspace(workspace: NewWorkspace) {
  return sql<WorkspaceRow>`
    insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name, description, custom_fields,
      calendar_key, project_id)
    values (${workspace.id}, ${workspace.tenantId}, ${workspace.parentId}, ${workspace.path}, ${workspace.typeId},
      ${workspace.slug}, ${workspace.name}, ${workspace.description}, ${JSON.stringify(workspace.customFields)},
      ${workspace.calendarKey}, ${workspace.projectId})
    returning *`;
}

/** Returns those of the given keys for which the tenant has a task type, in any version and status. */
export function findTaskTypeKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string }>`
    select distinct key from task_types where tenant_id = ${tenantId} and key = any (${keys})`;
}

export type WorkspaceValues = Pick<
  WorkspaceRow,
  'name' | 'description' | 'slug' | 'type_id' | 'custom_fields' | 'task_types' | 'calendar_key'
>;

export function updateWorkspaceValues(tenantId: string, id: string, values: WorkspaceValues) {
  return sql<WorkspaceRow>`
    update workspaces
    set name = ${values.name}, description = ${values.description}, slug = ${values.slug}, type_id = ${values.type_id},
      custom_fields = ${JSON.stringify(values.custom_fields)}, task_types = ${values.task_types},
      calendar_key = ${values.calendar_key},
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateWorkspaceStatus(tenantId: string, id: string, status: WorkspaceRow['status']) {
  return sql<WorkspaceRow>`
    update workspaces set status = ${status}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** The types of the active direct children of a workspace. */
export function findActiveChildTypes(tenantId: string, id: string) {
  return sql<{ key: string; children: number }>`
    select t.key, count(*) as children
    from workspaces w join workspace_types t on t.id = w.type_id
    where w.tenant_id = ${tenantId} and w.parent_id = ${id} and w.status = 'active'
    group by t.key order by t.key`;
}

/** The active project of the workspace itself. */
export function findActiveProject(tenantId: string, workspaceId: string) {
  return sql<{ id: string }>`
    select id from projects where workspace_id = ${workspaceId} and tenant_id = ${tenantId} and status = 'active'`;
}

/** Those of the given projects that are archived. */
export function findArchivedProjects(tenantId: string, ids: readonly string[]) {
  return sql<{ id: string }>`
    select id from projects where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and status = 'archived'`;
}

/** Makes tasks of this project, in the workspace and its descendants, available or unavailable. */
export function changeOffersBelow(
  tenantId: string,
  workspaceId: string,
  { projectId, isOffered }: { projectId: string | null; isOffered: boolean },
) {
  return sql`select change_offers(${tenantId}, ${workspaceId}, ${projectId}, ${isOffered})`;
}

/** The number of levels below a workspace; 0 for a leaf. */
export function findLevelsBelow(tenantId: string, id: string, depth: number) {
  return sql<{ levels: number }>`
    select max(cardinality(path)) - ${depth}::integer as levels from workspaces
    where tenant_id = ${tenantId} and path @> array[${id}::uuid]`;
}

export interface NewPlace {
  /** null for a root. */
  readonly parentId: string | null;
  /** The path of the new parent; empty for a root. */
  readonly pathAbove: readonly string[];
  /** The previous number of ancestors. */
  readonly depth: number;
  /** The previous and the new project of the workspace's ancestors. */
  readonly projects: { readonly from: string | null; readonly to: string | null };
}

/** Moves a workspace with its descendants below another one, or to the roots. */
export function updateParent(
  tenantId: string,
  id: string,
  { parentId, pathAbove, depth, projects }: NewPlace,
) {
  return sql`
    update workspaces
    set path = ${pathAbove}::uuid[] || path[${depth}::integer + 1:],
      project_id = case when project_id is not distinct from ${projects.from}::uuid then ${projects.to}::uuid
        else project_id end,
      parent_id = case when id = ${id} then ${parentId}::uuid else parent_id end,
      version = version + case when id = ${id} then 1 else 0 end,
      updated_at = case when id = ${id} then now() else updated_at end
    where tenant_id = ${tenantId} and path @> array[${id}::uuid]`;
}

const build = queryBuilder<{ workspaces: WorkspaceRow }>();

const newestFirst: ListOrder<WorkspaceRow> = {
  cursor: 'workspaces',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export interface WorkspaceFilter {
  readonly status: string | undefined;
  /** null: the roots. */
  readonly parentId: string | null | undefined;
}

type Listed = { workspaces: WorkspaceRow };

/** All workspaces that match a filter, for viewers without restrictions. */
export function findWorkspaces(
  tenantId: string,
  { status, parentId }: WorkspaceFilter,
  page: Page,
): PageQuery<WorkspaceRow> {
  const all = matching(build.selectFrom('workspaces').selectAll().where('tenant_id', '=', tenantId), {
    status,
  });
  if (parentId === undefined) return pageQuery(all, newestFirst, page);
  const below =
    parentId === null ? all.where('parent_id', 'is', null) : all.where('parent_id', '=', parentId);
  return pageQuery(below, newestFirst, page);
}

/**
 * Workspaces that match the filter, for a person who sees only the subtrees of their own workspaces; the ancestors of
 * those are omitted.
 */
export function listOfWorkspaces(
  tenantId: string,
  status: WorkspaceFilter['status'],
  viewerId: string,
): SeenList<WorkspaceRow> {
  const foundIn = (source: 'workspaces') =>
    matching(
      build.selectFrom(source).selectAll().select(seenParent(viewerId)).where('tenant_id', '=', tenantId),
      { status },
    );
  const seen = rowsWhere('workspaces', condition`id in (${workspacesSeenBy(viewerId)})`).as('workspaces');
  return {
    all: (page) => pageQuery<Listed, 'workspaces', WorkspaceRow>(foundIn('workspaces'), newestFirst, page),
    filedBy: 'itself',
    seen: (_, page) =>
      pageQuery<Listed, 'workspaces', WorkspaceRow>(
        foundIn(seen as unknown as 'workspaces'),
        newestFirst,
        page,
      ),
    lookups: () => workspacesSeenBy(viewerId),
  };
}

/** The topmost workspaces that a person sees: their own workspaces without a visible ancestor. */
export function findTopWorkspaces(
  tenantId: string,
  status: WorkspaceFilter['status'],
  viewerId: string,
  page: Page,
): PageQuery<WorkspaceRow> {
  const own = rowsWhere('workspaces', topsSeenBy(viewerId)).as('workspaces') as unknown as 'workspaces';
  const query = build.selectFrom(own).selectAll().select(seenParent(viewerId));
  const tops = matching(query.where('tenant_id', '=', tenantId), { status });
  return pageQuery<Listed, 'workspaces', WorkspaceRow>(tops, newestFirst, page);
}

const seenParent = (viewerId: string) =>
  fragment<string | null>`case when parent_id in (${workspacesSeenBy(viewerId)}) then parent_id end`.as(
    'parent_id',
  );

const topsSeenBy = (viewerId: string) => condition`
  id in (select workspace_id from workspace_members where principal_id = ${viewerId}::uuid)
  and (parent_id is null or parent_id not in (${workspacesSeenBy(viewerId)}))`;
