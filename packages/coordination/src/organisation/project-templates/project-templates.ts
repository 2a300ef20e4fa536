import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import type { Json, JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument, refuseSecretKeys } from '../../service/documents.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type ConfigDocument, parseConfig, viewsMax } from '../projects/config/config-document.ts';
import { type Governance, parseGovernance } from '../projects/config/governance.ts';
import { findStatus } from '../status-graph.ts';
import { lockVersions } from '../version-lock.ts';
import { defaultLifecycle, type ProjectCategory, parseProjectLifecycle } from './project-lifecycle.ts';
import {
  type NewProjectTemplate,
  type ProjectTemplate,
  type ProjectTemplateRow,
  projectTemplateOf,
  type TemplateNames,
  templateStatuses,
} from './project-template.ts';
import { projectTemplateCreated, projectTemplateDeprecated } from './project-templates.events.ts';
import {
  findTemplate,
  findTemplates,
  holdTemplate,
  insertTemplate,
  updateTemplateToDeprecated,
} from './project-templates.sql.ts';

/** Creates the next version of a template; versions never change. See docs/reference/projects.md#templates. */
export async function createProjectTemplate(
  context: Context,
  request: NewProjectTemplate,
): Promise<ProjectTemplate> {
  const { db, tenantId, caller } = context;
  const { key, displayName, description, fieldSchema, lifecycleSchema } = request;
  checkStoredSchema(fieldSchema, { field: 'fieldSchema' });
  const lifecycle = lifecycleSchema == null ? defaultLifecycle : parseProjectLifecycle(lifecycleSchema);
  const config = parseConfig(request.defaultConfig, 'defaultConfig');
  const defaultViews = parseViews(request.defaultViews);
  const governanceSchema = parseDefaults(request.governanceSchema);
  const memoryDefaults = parseMemory(request.memoryDefaults);
  const defaultConfig = completed(config, governanceSchema);
  await lockVersions(context, 'project_templates', key);
  const ids = { id: newId(), tenantId, createdBy: caller.principalId };
  const documents = { fieldSchema, lifecycle, defaultConfig, defaultViews, governanceSchema, memoryDefaults };
  const row = (await db.row(
    insertTemplate({ ...ids, ...documents, key, displayName, description }),
  )) as ProjectTemplateRow;
  const { initialStatus } = lifecycle;
  emit(
    context,
    projectTemplateCreated,
    { entityId: row.id },
    { key, version: row.version, displayName: eventText(displayName), initialStatus },
  );
  return projectTemplateOf(row);
}

function parseViews(views: readonly unknown[]): Json[] {
  const field = 'defaultViews';
  if (views.length > viewsMax) fail('invalid_template', { field, maxItems: viewsMax });
  const wrapped: unknown = { [field]: views };
  checkDocument(wrapped, { field });
  refuseSecretKeys(wrapped, field);
  return views as Json[];
}

function parseDefaults(sent: unknown): Governance {
  checkDocument(sent, { field: 'governanceSchema' });
  return parseGovernance(sent, '/governanceSchema');
}

function parseMemory(sent: unknown): JsonObject {
  checkDocument(sent, { field: 'memoryDefaults' });
  refuseSecretKeys(sent, 'memoryDefaults');
  return sent;
}

/**
 * The configuration with all sections except the views, which apply only where they are declared. The governance of the
 * configuration overrides the governance schema.
 */
function completed(
  config: ConfigDocument,
  governanceSchema: Governance,
): Required<Omit<ConfigDocument, 'views'>> {
  return {
    ...config,
    settings: config.settings ?? {},
    governance: { ...governanceSchema, ...config.governance },
    memory: config.memory ?? {},
    inheritance: { inheritableSettings: ['*'], lockedSettings: [], ...config.inheritance },
  };
}

/** A page of templates, all versions. @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listProjectTemplates(
  { db, tenantId }: Context,
  query: { key?: string | undefined; status?: string | undefined; package?: string | undefined },
  page: Page,
): Promise<ItemPage<ProjectTemplate>> {
  const { key, status, package: packageKey } = query;
  if (status !== undefined && !templateStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: templateStatuses });
  return listPage(
    db,
    findTemplates(tenantId, { key, status, package_key: packageKey }, page),
    projectTemplateOf,
  );
}

/** @throws Refusal `not_found` */
export async function getProjectTemplate(context: Context, id: string): Promise<ProjectTemplate> {
  return projectTemplateOf(await getTemplateRow(context, id));
}

/** @throws Refusal `not_found` */
export async function getTemplateRow({ db, tenantId }: Context, id: string): Promise<ProjectTemplateRow> {
  return (await db.row(findTemplate(tenantId, id))) ?? fail('not_found', { projectTemplateId: id });
}

/**
 * Deprecates a version; new projects can no longer use it. Repeating the request changes nothing.
 * @throws Refusal `not_found`
 */
export async function deprecateProjectTemplate(context: Context, id: string): Promise<ProjectTemplate> {
  const row = await context.db.row(updateTemplateToDeprecated(context.tenantId, id));
  if (row === undefined) return getProjectTemplate(context, id);
  const { key, version } = row;
  emit(context, projectTemplateDeprecated, { entityId: id }, { key, version });
  return projectTemplateOf(row);
}

/**
 * Returns the version that a project specifies.
 * @param current the project's current template, which it may specify again even if deprecated
 * @throws Refusal `invalid_template_reference`, `not_found`, `template_deprecated`
 */
export async function resolveTemplate(
  { db, tenantId }: Context,
  { templateId, templateKey, templateVersion }: TemplateNames,
  current?: string,
): Promise<ProjectTemplateRow> {
  const [id, key, version] = [templateId ?? null, templateKey ?? null, templateVersion ?? null];
  const isOne = (id === null) !== (key === null) && !(id !== null && version !== null);
  if (!isOne)
    return fail('invalid_template_reference', { fields: ['templateId', 'templateKey', 'templateVersion'] });
  const row = await db.row(holdTemplate(tenantId, { id, key, version }));
  if (row === undefined)
    return fail(
      'not_found',
      id === null ? { templateKey: key, templateVersion: version } : { projectTemplateId: id },
    );
  if (row.status === 'deprecated' && row.id !== current)
    fail('template_deprecated', { templateKey: row.key, templateVersion: row.version });
  return row;
}

/** The category that a status has in a template. @throws Refusal `status_not_in_lifecycle` */
export function categoryOf(
  { lifecycle_schema: lifecycle }: ProjectTemplateRow,
  statusKey: string,
): ProjectCategory {
  const known = lifecycle.statuses.map(({ key }) => key);
  const status = findStatus(lifecycle, statusKey);
  return (status ?? fail('status_not_in_lifecycle', { field: 'statusKey', statusKey, known })).category;
}
