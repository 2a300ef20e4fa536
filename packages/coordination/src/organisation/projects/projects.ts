import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { requireKnownPrincipals } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { holds } from '../../service/permissions.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { parseCustomFields } from '../custom-fields.ts';
import { fail } from '../errors.ts';
import { type ProjectCategory, projectCategories } from '../project-templates/project-lifecycle.ts';
import { categoryOf, resolveTemplate } from '../project-templates/project-templates.ts';
import { lockWorkspaceTree } from '../tree-lock.ts';
import { parseArchivableStatus } from '../workspace-types/workspace-types.ts';
import type { WorkspaceRow } from '../workspaces/workspace.ts';
import { createWorkspace, getAnyWorkspaceRow, getWorkspaceRow } from '../workspaces/workspaces.ts';
import { parseSettings } from './config/config-document.ts';
import { ceilingOf, layersAt, requireUnlocked } from './config/layers.ts';
import { type PlacedProjectRow, type Project, type ProjectRequest, projectOf } from './project.ts';
import { projectCreated } from './projects.events.ts';
import {
  changeOffers,
  findProject,
  insertProject,
  listOfProjects,
  lockProject,
  type ProjectFilter,
  updateProjectBelow,
} from './projects.sql.ts';

/** A project that the caller may see. @throws Refusal `not_found` */
export async function getProjectRow(context: Context, id: string): Promise<PlacedProjectRow> {
  const row = await findAnyProject(context, id);
  await requireSight(context, row.workspace_id, { projectId: id });
  return row;
}

async function findAnyProject(context: Context, id: string): Promise<PlacedProjectRow> {
  const row = await context.db.row(findProject(context.tenantId, await viewerOf(context), id));
  return row ?? fail('not_found', { projectId: id });
}

/** @throws Refusal `not_found` */
export async function getProject(context: Context, id: string): Promise<Project> {
  return projectOf(await getProjectRow(context, id));
}

/** Locks the project against concurrent changes; the caller holds the tree lock. @throws Refusal `not_found` */
export async function lockProjectRow({ db, tenantId }: Context, id: string) {
  return (await db.row(lockProject(tenantId, id))) ?? fail('not_found', { projectId: id });
}

/** The project, as the response of a command. */
export async function showProject(context: Context, id: string): Promise<Project> {
  return projectOf(await findAnyProject(context, id));
}

/**
 * Creates the project of a workspace, and the workspace itself if a slug is sent. A refused request creates neither.
 * See docs/reference/projects.md#create.
 * @throws Refusal `permission_denied`, `invalid_project_request`, those of `createWorkspace`, `not_found`,
 * `workspace_archived`, `invalid_template_reference`, `template_deprecated`, `status_not_in_lifecycle`,
 * `custom_fields_invalid`, those of `parseSettings`, `project_exists`, `setting_locked`
 */
export async function createProject(context: Context, request: ProjectRequest): Promise<Project> {
  const { db, tenantId, caller } = context;
  const workspace = await workspaceFor(context, request);
  if (workspace.status === 'archived') fail('workspace_archived', { workspaceId: workspace.id });
  const template = await resolveTemplate(context, request);
  const statusKey = request.statusKey ?? template.lifecycle_schema.initialStatus;
  const category = categoryOf(template, statusKey);
  const customFields = parseCustomFields(request.customFields, template.field_schema);
  const settings = parseSettings(request.settings);
  const ownerId = request.ownerPrincipalId ?? null;
  if (ownerId !== null) await requireKnownPrincipals(context, [ownerId]);
  const row = await db.row(
    insertProject({
      id: newId(),
      tenant_id: tenantId,
      workspace_id: workspace.id,
      template_id: template.id,
      template_key: template.key,
      template_version: template.version,
      status_key: statusKey,
      system_status_category: category,
      owner_principal_id: ownerId,
      start_date: request.startDate ?? null,
      target_date: request.targetDate ?? null,
      custom_fields: customFields,
      settings,
      created_by: caller.principalId,
    }),
  );
  if (row === undefined) return fail('project_exists', { workspaceId: workspace.id });
  const above = await layersAbove(context, workspace);
  requireUnlocked(ceilingOf(above), Object.keys(settings));
  await db.run(updateProjectBelow(tenantId, workspace.id, { from: workspace.project_id, to: row.id }));
  // Work in a workspace that belonged to an archived project becomes available again.
  if (above.at(-1)?.status === 'archived') await db.run(changeOffers(row, true));
  const project = await showProject(context, row.id);
  const { templateKey, templateVersion, parentProjectId, systemStatusCategory, workspaceId } = project;
  const names = { workspaceId, parentProjectId, templateKey, templateVersion };
  emit(
    context,
    projectCreated,
    { entityId: row.id, workspaceId },
    { ...names, statusKey, systemStatusCategory },
  );
  return project;
}

/** @throws Refusal `permission_denied`, `invalid_project_request`, `not_found`, those of `createWorkspace` */
async function workspaceFor(context: Context, request: ProjectRequest): Promise<WorkspaceRow> {
  const { workspaceId, workspaceSlug: slug, workspaceName, parentWorkspaceId, workspaceTypeKey } = request;
  const ofNew = [slug, workspaceName, parentWorkspaceId, workspaceTypeKey];
  const isNamed = workspaceId != null;
  if (isNamed ? ofNew.some((given) => given != null) : slug == null)
    fail('invalid_project_request', { fields: ['workspaceId', 'workspaceSlug'] });
  await lockWorkspaceTree(context);
  if (isNamed) {
    const workspace = await getWorkspaceRow(context, workspaceId);
    await requireMayFile(context, 'projects.manage', workspaceId);
    return workspace;
  }
  const required = 'workspaces.manage';
  if (!holds(context.caller.permissions, required)) fail('permission_denied', { required: [required] });
  const made = await createWorkspace(context, {
    slug: slug as string,
    name: workspaceName ?? (slug as string),
    description: '',
    parentId: parentWorkspaceId,
    typeKey: workspaceTypeKey,
    customFields: {},
  });
  await requireMayFile(context, 'projects.manage', parentWorkspaceId ?? null);
  return getAnyWorkspaceRow(context, made.id);
}

/** The ancestors of a project, from the root down. */
export async function layersAbove(context: Context, workspace: Pick<WorkspaceRow, 'id'>) {
  const layers = await layersAt(context, { workspaceId: workspace.id });
  return layers.filter(({ workspaceId }) => workspaceId !== workspace.id);
}

export interface ProjectQuery {
  workspaceId?: string | undefined;
  status?: string | undefined;
  statusKey?: string | undefined;
  systemStatusCategory?: string | undefined;
  templateKey?: string | undefined;
  externalSystem?: string | undefined;
  externalType?: string | undefined;
  externalId?: string | undefined;
}

/**
 * A page of projects, newest first.
 * @throws Refusal `invalid_status`, `invalid_status_category`, `invalid_external_lookup`, `not_found`, `invalid_cursor`
 */
export async function listProjects(
  context: Context,
  query: ProjectQuery,
  page: Page,
): Promise<ItemPage<Project>> {
  const { workspaceId, systemStatusCategory } = query;
  const status = parseArchivableStatus(query.status);
  if (
    systemStatusCategory !== undefined &&
    !projectCategories.includes(systemStatusCategory as ProjectCategory)
  )
    fail('invalid_status_category', { known: projectCategories });
  const external = externalFilterOf(query);
  if (workspaceId !== undefined) await getWorkspaceRow(context, workspaceId);
  const viewerId = await viewerOf(context);
  const filter = {
    workspace_id: workspaceId,
    status,
    status_key: query.statusKey,
    system_status_category: systemStatusCategory,
    template_key: query.templateKey,
    external,
  };
  return listSeen(context.db, viewerId, listOfProjects(context.tenantId, filter, viewerId), page, projectOf);
}

/** @throws Refusal `invalid_external_lookup` */
function externalFilterOf({
  externalSystem: system,
  externalType: type,
  externalId: id,
}: ProjectQuery): ProjectFilter['external'] {
  if (system === undefined && type === undefined && id === undefined) return undefined;
  if (system === undefined || id === undefined) return fail('invalid_external_lookup');
  return { system, type, id };
}
