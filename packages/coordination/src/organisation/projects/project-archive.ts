import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { holdWorkspaceTree } from '../tree-lock.ts';
import { getAnyWorkspaceRow } from '../workspaces/workspaces.ts';
import type { Project, ProjectRow } from './project.ts';
import { projectArchived, projectRestored } from './projects.events.ts';
import { changeOffers, holdProject, takeOfferLock, updateProjectStatus } from './projects.sql.ts';
import { layersAbove, lockProjectRow, showProject } from './projects.ts';

/**
 * Archives a project; repeating the request changes nothing. Tasks, workspace and history remain, but its work, down to
 * the next nested project, is no longer available.
 * @throws Refusal `not_found`
 */
export async function archiveProject(context: Context, id: string): Promise<Project> {
  await holdWorkspaceTree(context);
  const project = await lockProjectRow(context, id);
  return project.status === 'archived' ? showProject(context, id) : moveTo(context, project, 'archived');
}

/**
 * Restores an archived project; repeating the request changes nothing.
 * @throws Refusal `not_found`, `workspace_archived` for a project in an archived workspace, `project_archived` for one
 * below an archived project
 */
export async function restoreProject(context: Context, id: string): Promise<Project> {
  await holdWorkspaceTree(context);
  const project = await lockProjectRow(context, id);
  if (project.status === 'active') return showProject(context, id);
  const workspace = await getAnyWorkspaceRow(context, project.workspace_id);
  if (workspace.status === 'archived') fail('workspace_archived', { workspaceId: workspace.id });
  await requireActiveAbove(context, project);
  return moveTo(context, project, 'active');
}

/** Locks the parent project, so that its archive either precedes or follows this restore. */
async function requireActiveAbove(context: Context, { workspace_id: id }: ProjectRow): Promise<void> {
  const above = (await layersAbove(context, { id })).at(-1);
  if (above === undefined) return;
  const held = await context.db.row(holdProject(context.tenantId, above.projectId));
  if (held?.status === 'archived')
    fail('project_archived', above.isSeen ? { projectId: above.projectId } : {});
}

async function moveTo(context: Context, project: ProjectRow, status: ProjectRow['status']): Promise<Project> {
  const { db, tenantId } = context;
  const { id } = project;
  await db.run(takeOfferLock(id));
  const row = (await db.row(updateProjectStatus(tenantId, id, status))) as ProjectRow;
  await db.run(changeOffers(row, status === 'active'));
  const { workspace_id: workspaceId, version } = row;
  const event = status === 'archived' ? projectArchived : projectRestored;
  emit(context, event, { entityId: id, workspaceId }, { workspaceId, version });
  return showProject(context, id);
}
