import { createHash } from 'node:crypto';
import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { categoryOf, getTemplateRow } from '../project-templates/project-templates.ts';
import { type ConfigDocument, parseConfig } from './config/config-document.ts';
import { type EffectiveConfig, effectiveConfigOf } from './config/effective-config.ts';
import {
  type Ceiling,
  ceilingOf,
  layersAt,
  requireNarrower,
  requireUnlocked,
  settingKeysOf,
} from './config/layers.ts';
import {
  type ConfigRevision,
  type ConfigRevisionRequest,
  type ConfigRevisionRow,
  configRevisionOf,
} from './config-revision.ts';
import { findRevision, findRevisions, insertRevision, updateToActivated } from './config-revisions.sql.ts';
import type { Project, ProjectRow } from './project.ts';
import { lockActiveProject } from './project-changes.ts';
import { projectConfigRevisionActivated, projectConfigRevisionCreated } from './projects.events.ts';
import { updateActiveRevision } from './projects.sql.ts';
import { getProjectRow, layersAbove, showProject } from './projects.ts';

/**
 * Records the next configuration of a project, which takes effect when it is activated. See
 * docs/reference/projects.md#revisions.
 * @throws Refusal `not_found`, `project_archived`, those of `parseConfig`, `status_not_in_lifecycle`,
 * `governance_weakened`, `setting_locked`
 */
export async function createConfigRevision(
  context: Context,
  projectId: string,
  request: ConfigRevisionRequest,
): Promise<ConfigRevision> {
  const { db, tenantId, caller } = context;
  const project = await lockActiveProject(context, projectId, undefined);
  const config = parseConfig(request.config, 'config');
  const { governance: governanceCeiling } = await requireFitting(context, project, config);
  const { template_id: templateId, template_key: templateKey, template_version: templateVersion } = project;
  const checked = { templateId, templateKey, templateVersion, governanceCeiling };
  const ids = { id: newId(), tenantId, projectId, createdBy: caller.principalId };
  const { comment } = request;
  const row = (await db.row(insertRevision({ ...ids, config, checked, comment }))) as ConfigRevisionRow;
  emit(
    context,
    projectConfigRevisionCreated,
    { entityId: projectId, workspaceId: project.workspace_id },
    { revision: row.revision, revisionId: row.id, comment: eventText(comment) },
  );
  return configRevisionOf(row);
}

/** Validates a configuration against the current ancestors. @returns the constraints of the project */
async function requireFitting(
  context: Context,
  project: ProjectRow,
  config: ConfigDocument,
): Promise<Ceiling> {
  categoryOf(await getTemplateRow(context, project.template_id), project.status_key);
  const ceiling = ceilingOf(await layersAbove(context, { id: project.workspace_id }));
  requireNarrower(ceiling, config.governance ?? {});
  requireUnlocked(ceiling, settingKeysOf(config));
  return ceiling;
}

/**
 * Activates a revision; activating the active one changes nothing.
 * @throws Refusal `not_found`, `version_conflict`, `project_archived`, `status_not_in_lifecycle`,
 * `governance_weakened`, `setting_locked`
 */
export async function activateConfigRevision(
  context: Context,
  projectId: string,
  revision: number,
  ifMatch: number,
): Promise<Project> {
  const { db, tenantId } = context;
  const project = await lockActiveProject(context, projectId, ifMatch);
  const found = await db.row(findRevision(tenantId, projectId, revision));
  if (found === undefined) return fail('not_found', { projectId, revision });
  await requireFitting(context, project, found.config);
  if (project.active_config_revision_id === found.id) return showProject(context, projectId);
  await db.run(updateToActivated(tenantId, found.id));
  const revisionId = found.id;
  const row = await db.row(updateActiveRevision(tenantId, projectId, { revisionId, revision }));
  const { workspace_id: workspaceId, version } = row as ProjectRow;
  emit(
    context,
    projectConfigRevisionActivated,
    { entityId: projectId, workspaceId },
    { revision, revisionId, version },
  );
  return showProject(context, projectId);
}

/** A page of a project's configurations, newest first. @throws Refusal `not_found`, `invalid_cursor` */
export async function listConfigRevisions(
  context: Context,
  projectId: string,
  page: Page,
): Promise<ItemPage<ConfigRevision>> {
  await getProjectRow(context, projectId);
  return listPage(context.db, findRevisions(context.tenantId, projectId, page), configRevisionOf);
}

/**
 * Resolves the effective configuration of a project with one query at any depth. See
 * docs/reference/projects.md#effective-configuration.
 * @returns the ETag of all its inputs, available before the configuration is built, and the function that builds it
 * @throws Refusal `not_found`
 */
export async function findEffectiveConfig(
  context: Context,
  projectId: string,
): Promise<{ tag: string; make(): EffectiveConfig }> {
  const chain = await layersAt(context, { projectId });
  if (chain.length === 0) return fail('not_found', { projectId });
  // Templates and revisions never change, and a change to any other input increments the version of its project.
  const parts = chain.map((layer) => [layer.projectId, layer.version, layer.isSeen]);
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return { tag: `"effective-config-${hash}"`, make: () => effectiveConfigOf(chain) };
}
