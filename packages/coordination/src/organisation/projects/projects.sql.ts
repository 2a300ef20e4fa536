import { queryBuilder } from '@baton/kernel/database/db';
import { condition, fragment, type ListOrder, matching } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { PlacedProjectRow, ProjectRow } from './project.ts';

/** Includes the parent project if the viewer may see it. */
export function findProject(tenantId: string, viewerId: string | null, id: string) {
  return sql<PlacedProjectRow>`
    select p.*, (
      select a.id from workspaces w join workspaces up on up.id = w.parent_id join projects a on a.id = up.project_id
      where w.id = p.workspace_id and sees_workspace(${viewerId}, a.workspace_id)) as parent_project_id
    from projects p where p.id = ${id} and p.tenant_id = ${tenantId}`;
}

/** Locks the project against other changes until the commit. */
export function lockProject(tenantId: string, id: string) {
  return sql<ProjectRow>`select * from projects where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

/** Locks the parent project until the commit. */
export function holdProject(tenantId: string, id: string) {
  return sql<ProjectRow>`select * from projects where id = ${id} and tenant_id = ${tenantId} for share`;
}

export type NewProject = ProjectValues & Pick<ProjectRow, 'id' | 'tenant_id' | 'workspace_id' | 'created_by'>;

/** Returns no row if the workspace already has a project. */
export function insertProject(project: NewProject) {
  return sql<ProjectRow>`
    insert into projects (id, tenant_id, workspace_id, template_id, template_key, template_version, status_key,
      system_status_category, owner_principal_id, start_date, target_date, custom_fields, settings, created_by)
    values (${project.id}, ${project.tenant_id}, ${project.workspace_id}, ${project.template_id}, ${project.template_key},
      ${project.template_version}, ${project.status_key}, ${project.system_status_category},
      ${project.owner_principal_id}, ${project.start_date}, ${project.target_date},
      ${JSON.stringify(project.custom_fields)}, ${JSON.stringify(project.settings)}, ${project.created_by})
    on conflict (workspace_id) do nothing
    returning *`;
}

/**
 * Assigns tasks in the workspace and its descendants to the new project, except those that belong to a nearer project.
 */
export function updateProjectBelow(
  tenantId: string,
  workspaceId: string,
  { from, to }: { from: string | null; to: string },
) {
  return sql`
    update workspaces set project_id = ${to}
    where tenant_id = ${tenantId} and path @> array[${workspaceId}::uuid] and project_id is not distinct from ${from}::uuid`;
}

export type ProjectValues = Pick<
  ProjectRow,
  | 'template_id'
  | 'template_key'
  | 'template_version'
  | 'status_key'
  | 'system_status_category'
  | 'owner_principal_id'
  | 'start_date'
  | 'target_date'
  | 'custom_fields'
  | 'settings'
>;

export function updateProjectValues(tenantId: string, id: string, values: ProjectValues) {
  return sql<ProjectRow>`
    update projects
    set template_id = ${values.template_id}, template_key = ${values.template_key},
      template_version = ${values.template_version}, status_key = ${values.status_key},
      system_status_category = ${values.system_status_category}, owner_principal_id = ${values.owner_principal_id},
      start_date = ${values.start_date}, target_date = ${values.target_date},
      custom_fields = ${JSON.stringify(values.custom_fields)}, settings = ${JSON.stringify(values.settings)},
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/**
 * Waits for all transactions that put tasks into a workspace of the project; later ones wait until this one commits.
 */
export function takeOfferLock(projectId: string) {
  return sql`select pg_advisory_xact_lock(offer_lock(${projectId}))`;
}

export function updateProjectStatus(tenantId: string, id: string, status: ProjectRow['status']) {
  return sql<ProjectRow>`
    update projects
    set status = ${status}, archived_at = case when ${status} = 'archived' then now() end, version = version + 1,
      updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** Makes the work of a project available or unavailable: 1,000 tasks before the response, the others by a worker. */
export function changeOffers(
  { tenant_id: tenantId, workspace_id: workspaceId, id }: ProjectRow,
  isOffered: boolean,
) {
  return sql`
    select change_offers(${tenantId}, ${workspaceId}, ${id}, ${isOffered})`;
}

export function updateActiveRevision(
  tenantId: string,
  id: string,
  { revisionId, revision }: { revisionId: string; revision: number },
) {
  return sql<ProjectRow>`
    update projects
    set active_config_revision_id = ${revisionId}, active_config_revision = ${revision}, version = version + 1,
      updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

const build = queryBuilder<{ projects: ProjectRow }>();

const newestFirst: ListOrder<PlacedProjectRow> = {
  cursor: 'projects',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type ProjectFilter = {
  readonly [Column in 'workspace_id' | 'status' | 'status_key' | 'system_status_category' | 'template_key']:
    | string
    | undefined;
} & {
  readonly external:
    | { readonly system: string; readonly type: string | undefined; readonly id: string }
    | undefined;
};

export function listOfProjects(
  tenantId: string,
  { external, ...filter }: ProjectFilter,
  viewerId: string | null,
): SeenList<PlacedProjectRow> {
  const foundIn = (source: 'projects') => {
    const all = build
      .selectFrom(source)
      .selectAll()
      .select(parentSeenBy(viewerId))
      .where('tenant_id', '=', tenantId);
    const found = matching(all, filter);
    return external === undefined ? found : found.where(namedBy(tenantId, external));
  };
  return seenByPlace(tenantId, 'projects', foundIn, newestFirst);
}

const parentSeenBy = (viewerId: string | null) =>
  fragment<string | null>`(
    select a.id from workspaces w join workspaces up on up.id = w.parent_id join projects a on a.id = up.project_id
    where w.id = projects.workspace_id and sees_workspace(${viewerId}::uuid, a.workspace_id))`.as(
    'parent_project_id',
  );

function namedBy(tenantId: string, { system, type, id }: NonNullable<ProjectFilter['external']>) {
  return condition`id in (
    select entity_id from external_references
    where tenant_id = ${tenantId} and entity_type = 'project'
      and md5(external_system || '/' || external_id) = md5(${system}::text || '/' || ${id}::text)
      and external_system = ${system} and external_id = ${id} and external_type = coalesce(${type ?? null}::text, external_type))`;
}
