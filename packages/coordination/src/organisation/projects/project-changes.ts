import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { requireKnownPrincipals } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { parseCustomFields } from '../custom-fields.ts';
import { fail } from '../errors.ts';
import type { ProjectTemplateRow } from '../project-templates/project-template.ts';
import { categoryOf, getTemplateRow, resolveTemplate } from '../project-templates/project-templates.ts';
import { movesFrom } from '../status-graph.ts';
import { holdWorkspaceTree } from '../tree-lock.ts';
import { parseSettings } from './config/config-document.ts';
import { ceilingOf, requireUnlocked } from './config/layers.ts';
import type { Project, ProjectChange, ProjectRow, ProjectTransition } from './project.ts';
import { projectStatusChanged, projectUpdated } from './projects.events.ts';
import { type ProjectValues, updateProjectValues } from './projects.sql.ts';
import { layersAbove, lockProjectRow, showProject } from './projects.ts';

/** @throws Refusal `not_found`, `version_conflict`, `project_archived` */
export async function lockActiveProject(
  context: Context,
  id: string,
  ifMatch: number | undefined,
): Promise<ProjectRow> {
  await holdWorkspaceTree(context);
  const project = await lockProjectRow(context, id);
  if (ifMatch !== undefined) requireVersionOf('project', project, ifMatch);
  if (project.status === 'archived') fail('project_archived', { projectId: id });
  return project;
}

/**
 * Changes a project; values equal to the stored ones change nothing. See docs/reference/projects.md#change.
 * @throws Refusal `not_found`, `version_conflict`, `project_archived`, `invalid_project_request`,
 * `invalid_template_reference`, `template_deprecated`, `status_not_in_lifecycle`, `custom_fields_invalid`, those of
 * `parseSettings`, `setting_locked`, `empty_update`
 */
export async function updateProject(
  context: Context,
  id: string,
  ifMatch: number,
  change: ProjectChange,
): Promise<Project> {
  const before = await lockActiveProject(context, id, ifMatch);
  const template = await templateAfter(context, before, change);
  const ofTemplate = template === undefined ? {} : valuesOf(template, before.status_key);
  const customFields = await customFieldsAfter(context, before, change, template);
  const settings = change.settings === undefined ? before.settings : parseSettings(change.settings);
  if (change.settings !== undefined)
    requireUnlocked(
      ceilingOf(await layersAbove(context, { id: before.workspace_id })),
      Object.keys(settings),
    );
  const { ownerPrincipalId: ownerId, clearOwner, startDate, targetDate } = change;
  if (clearOwner === true && ownerId != null)
    fail('invalid_project_request', { fields: ['ownerPrincipalId', 'clearOwner'] });
  if (ownerId != null) await requireKnownPrincipals(context, [ownerId]);
  if (Object.keys(change).length === 0) fail('empty_update');
  const after: ProjectValues = {
    ...before,
    ...ofTemplate,
    owner_principal_id: clearOwner === true ? null : (ownerId ?? before.owner_principal_id),
    start_date: startDate === undefined ? before.start_date : startDate,
    target_date: targetDate === undefined ? before.target_date : targetDate,
    custom_fields: customFields,
    settings,
  };
  const changes = differences(before, after);
  if (changes.length === 0) return showProject(context, id);
  const row = (await context.db.row(updateProjectValues(context.tenantId, id, after))) as ProjectRow;
  const about = { entityId: id, workspaceId: row.workspace_id };
  emit(context, projectUpdated, about, { changes, version: row.version });
  return showProject(context, id);
}

async function templateAfter(context: Context, before: ProjectRow, change: ProjectChange) {
  const { templateId, templateKey, templateVersion } = change;
  if (templateId == null && templateKey == null && templateVersion == null) return undefined;
  return resolveTemplate(context, change, before.template_id);
}

function valuesOf(template: ProjectTemplateRow, statusKey: string) {
  return {
    template_id: template.id,
    template_key: template.key,
    template_version: template.version,
    system_status_category: categoryOf(template, statusKey),
  };
}

/** Unchanged fields are validated again when the template changes. */
async function customFieldsAfter(
  context: Context,
  before: ProjectRow,
  { customFields }: ProjectChange,
  template: ProjectTemplateRow | undefined,
) {
  if (customFields === undefined && (template === undefined || template.id === before.template_id))
    return before.custom_fields;
  const judge = template ?? (await getTemplateRow(context, before.template_id));
  return parseCustomFields(customFields ?? before.custom_fields, judge.field_schema);
}

/** The names of the differing fields, sorted; a template version is compared by its id. */
function differences(before: ProjectRow, after: ProjectValues): string[] {
  const names = {
    customFields: 'custom_fields',
    ownerPrincipalId: 'owner_principal_id',
    settings: 'settings',
    startDate: 'start_date',
    targetDate: 'target_date',
    templateId: 'template_id',
  } as const;
  return Object.entries(names)
    .filter(([, column]) => canonicalJson(before[column]) !== canonicalJson(after[column]))
    .map(([name]) => name);
}

/**
 * Moves a project along a declared transition of its template's lifecycle. See docs/reference/projects.md#transition.
 * @throws Refusal `not_found`, `version_conflict`, `project_archived`, `status_not_in_lifecycle`, `invalid_transition`
 */
export async function transitionProject(
  context: Context,
  id: string,
  ifMatch: number,
  { statusKey, comment }: ProjectTransition,
): Promise<Project> {
  const before = await lockActiveProject(context, id, ifMatch);
  const template = await getTemplateRow(context, before.template_id);
  const category = categoryOf(template, statusKey);
  const from = before.status_key;
  const allowed = movesFrom(template.lifecycle_schema, from);
  if (!allowed.includes(statusKey)) fail('invalid_transition', { from, to: statusKey, allowed });
  const after = { ...before, status_key: statusKey, system_status_category: category };
  const row = (await context.db.row(updateProjectValues(context.tenantId, id, after))) as ProjectRow;
  emit(
    context,
    projectStatusChanged,
    { entityId: id, workspaceId: row.workspace_id },
    {
      fromStatusKey: from,
      fromSystemStatusCategory: before.system_status_category,
      statusKey,
      systemStatusCategory: category,
      comment: eventText(comment),
      version: row.version,
    },
  );
  return showProject(context, id);
}
