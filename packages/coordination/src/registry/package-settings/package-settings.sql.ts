import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { SettingsDeclaration, SettingsRow, SettingsVersionRow } from './package-settings.ts';
import type { NamedObject } from './schema-walk.ts';

export function findSettings(tenantId: string, key: string) {
  return sql<SettingsRow>`
    select id, key, version, settings_title, settings_schema, settings_uischema, settings_schema_hash,
      settings_schema_revision, settings_values, settings_version, settings_updated_by, settings_updated_at
    from packages where tenant_id = ${tenantId} and key = ${key}`;
}

export function lockSettings(tenantId: string, key: string) {
  return sql<SettingsRow>`
    select id, key, version, settings_title, settings_schema, settings_uischema, settings_schema_hash,
      settings_schema_revision, settings_values, settings_version, settings_updated_by, settings_updated_at
    from packages where tenant_id = ${tenantId} and key = ${key} for no key update`;
}

/** All packages that declare settings, by key; their number per tenant is limited. */
export function findAllSettings(tenantId: string, rowsMax: number) {
  return sql<
    Pick<
      SettingsRow,
      'key' | 'version' | 'settings_version' | 'settings_updated_by' | 'settings_updated_at'
    > & {
      settings_title: string | null;
    }
  >`
    select key, version, settings_title, settings_version, settings_updated_by, settings_updated_at
    from packages where tenant_id = ${tenantId} and settings_schema is not null order by key limit ${rowsMax}`;
}

/** Writes the next version of the values and locks the package. */
export function updateSettingsValues(
  tenantId: string,
  key: string,
  next: { values: JsonObject; changedPaths: readonly string[]; principalId: string },
) {
  return sql<SettingsRow>`
    with changed as (
      update packages
      set settings_values = ${JSON.stringify(next.values)}, settings_version = settings_version + 1,
        settings_updated_by = ${next.principalId}, settings_updated_at = now()
      where tenant_id = ${tenantId} and key = ${key}
      returning id, key, version, settings_title, settings_schema, settings_uischema, settings_schema_hash,
        settings_schema_revision, settings_values, settings_version, settings_updated_by, settings_updated_at
    ), kept as (
      insert into package_settings_versions (tenant_id, package_key, version, values, schema_revision, schema_hash,
        changed_paths, created_by)
      select ${tenantId}, key, settings_version, settings_values, settings_schema_revision, settings_schema_hash,
        ${next.changedPaths}::text[], ${next.principalId}
      from changed
    )
    select * from changed`;
}

/** Writes the settings that a package declares; a changed schema creates the next revision. */
export function updateDeclaration(tenantId: string, key: string, declared: SettingsDeclaration | null) {
  const { title = null, schema = null, uischema = null, schemaHash = null } = declared ?? {};
  return sql`
    update packages
    set settings_title = ${title}, settings_schema = ${schema === null ? null : JSON.stringify(schema)},
      settings_uischema = ${uischema === null ? null : JSON.stringify(uischema)}, settings_schema_hash = ${schemaHash},
      settings_schema_revision = settings_schema_revision
        + case when settings_schema_hash is distinct from ${schemaHash}::text then 1 else 0 end
    where tenant_id = ${tenantId} and key = ${key}`;
}

const build = queryBuilder<{
  package_settings_versions: SettingsVersionRow & { tenant_id: string; package_key: string };
}>();

const newestFirst: ListOrder<SettingsVersionRow> = {
  cursor: 'package-settings-versions',
  columns: { version: 'integer' },
  direction: 'desc',
};

export function findSettingsVersions(tenantId: string, key: string, page: Page) {
  const query = build
    .selectFrom('package_settings_versions')
    .select([
      'version',
      'values',
      'schema_revision',
      'schema_hash',
      'changed_paths',
      'created_by',
      'created_at',
    ])
    .where('tenant_id', '=', tenantId)
    .where('package_key', '=', key);
  return pageQuery(query, newestFirst, page);
}

/** The positions, starting at 1, of the references to missing objects. */
export function findUnknownNames(tenantId: string, named: readonly NamedObject[]) {
  const [kinds, values] = [named.map(({ kind }) => kind), named.map(({ value }) => value)];
  return sql<{ n: number }>`
    select named.n::integer as n
    from unnest(${kinds}::text[], ${values}::text[]) with ordinality as named (kind, value, n)
    where not case named.kind
      when 'principal' then exists (
        select from principals where tenant_id = ${tenantId} and id = uuid_or_null(named.value))
      when 'workspace' then exists (
        select from workspaces where tenant_id = ${tenantId} and id = uuid_or_null(named.value))
      when 'project' then exists (
        select from projects where tenant_id = ${tenantId} and id = uuid_or_null(named.value))
      when 'role' then exists (
        select from roles where tenant_id = ${tenantId} and slug = named.value and workspace_id is null)
      when 'capability' then exists (
        select from capabilities where tenant_id = ${tenantId} and name = named.value)
      when 'skill' then exists (select from skills where tenant_id = ${tenantId} and name = named.value)
      when 'taskType' then exists (select from task_types where tenant_id = ${tenantId} and key = named.value)
      when 'artifactType' then exists (
        select from artifact_types where tenant_id = ${tenantId} and key = named.value)
      when 'calendar' then exists (select from calendars where tenant_id = ${tenantId} and key = named.value)
      else false end
    order by named.n`;
}
