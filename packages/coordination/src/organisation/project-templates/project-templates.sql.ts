import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { Json, JsonObject } from '@baton/values/wire';
import type { ProjectLifecycle } from './project-lifecycle.ts';
import type { ProjectTemplateRow } from './project-template.ts';

export function findTemplate(tenantId: string, id: string) {
  return sql<ProjectTemplateRow>`select * from project_templates where id = ${id} and tenant_id = ${tenantId}`;
}

/**
 * Locks the version that a project specifies against deprecation until the commit. Without a version, selects the
 * newest active version of the key, or the newest if none is active.
 */
export function holdTemplate(
  tenantId: string,
  { id, key, version }: { id: string | null; key: string | null; version: number | null },
) {
  return sql<ProjectTemplateRow>`
    select * from project_templates
    where tenant_id = ${tenantId} and id = (
      select id from project_templates
      where tenant_id = ${tenantId}
        and case when ${id}::uuid is not null then id = ${id}::uuid
          else key = ${key}::text and version = coalesce(${version}::integer, version) end
      order by status, version desc limit 1)
    for share`;
}

export interface NewTemplateValues {
  id: string;
  tenantId: string;
  key: string;
  displayName: string;
  description: string;
  fieldSchema: JsonObject;
  lifecycle: ProjectLifecycle;
  defaultConfig: object;
  defaultViews: Json[];
  governanceSchema: JsonObject;
  memoryDefaults: JsonObject;
  createdBy: string;
}

/** Assigns the next version number of the key; the caller holds the version lock. */
export function insertTemplate(template: NewTemplateValues) {
  return sql<ProjectTemplateRow>`
    insert into project_templates (id, tenant_id, key, version, display_name, description, field_schema, lifecycle_schema,
      default_config, default_views, governance_schema, memory_defaults, created_by)
    select ${template.id}, ${template.tenantId}, ${template.key}, coalesce(max(version), 0) + 1, ${template.displayName},
      ${template.description}, ${JSON.stringify(template.fieldSchema)}, ${JSON.stringify(template.lifecycle)},
      ${JSON.stringify(template.defaultConfig)}, ${JSON.stringify(template.defaultViews)},
      ${JSON.stringify(template.governanceSchema)}, ${JSON.stringify(template.memoryDefaults)}, ${template.createdBy}
    from project_templates where tenant_id = ${template.tenantId} and key = ${template.key}
    returning *`;
}

/** Returns no row if it is already deprecated. */
export function updateTemplateToDeprecated(tenantId: string, id: string) {
  return sql<ProjectTemplateRow>`
    update project_templates set status = 'deprecated', updated_at = now()
    where id = ${id} and tenant_id = ${tenantId} and status = 'active'
    returning *`;
}

const build = queryBuilder<{ project_templates: ProjectTemplateRow }>();

const newestFirst: ListOrder<ProjectTemplateRow> = {
  cursor: 'project_templates',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findTemplates(
  tenantId: string,
  filter: { [Column in 'key' | 'status' | 'package_key']: string | undefined },
  page: Page,
) {
  const query = build.selectFrom('project_templates').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
