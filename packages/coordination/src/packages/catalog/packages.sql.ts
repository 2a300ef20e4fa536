import { sql } from '@baton/kernel/database/sql';
import type { PackageObject } from './package.ts';

export interface InstalledPackage {
  id: string;
  tenantId: string;
  key: string;
  version: string;
  installHash: string | null;
  title: string;
}

/** Installs a package, or another version of it; the caller holds the lock on packages. */
export function insertPackage(installed: InstalledPackage) {
  return sql`
    insert into packages (id, tenant_id, key, version, install_hash, title)
    values (${installed.id}, ${installed.tenantId}, ${installed.key}, ${installed.version}, ${installed.installHash},
      ${installed.title})
    on conflict (tenant_id, key) do update
    set version = excluded.version, install_hash = excluded.install_hash, updated_at = now()`;
}

/** Those of the given objects that the tenant does not have. */
export function findUnknownObjects(tenantId: string, objects: readonly PackageObject[]) {
  const [kinds, keys] = [objects.map(({ kind }) => kind), objects.map(({ key }) => key)];
  return sql<{ kind: string; key: string }>`
    select named.kind, named.key from unnest(${kinds}::text[], ${keys}::text[]) as named (kind, key)
    where not case named.kind
      when 'ArtifactType' then exists (
        select from artifact_types where tenant_id = ${tenantId} and artifact_types.key = named.key)
      when 'TaskType' then exists (
        select from task_types where tenant_id = ${tenantId} and task_types.key = named.key)
      when 'ProjectTemplate' then exists (
        select from project_templates where tenant_id = ${tenantId} and project_templates.key = named.key)
      when 'WorkspaceType' then exists (
        select from workspace_types where tenant_id = ${tenantId} and workspace_types.key = named.key)
      when 'Role' then exists (
        select from roles where tenant_id = ${tenantId} and slug = named.key and workspace_id is null)
      when 'Capability' then exists (select from capabilities where tenant_id = ${tenantId} and name = named.key)
      when 'Skill' then exists (
        select from skills
        where tenant_id = ${tenantId} and name = split_part(named.key, '@', 1)
          and version = coalesce(nullif(split_part(named.key, '@', 2), ''), version))
      when 'WorkRule' then exists (
        select from rules where tenant_id = ${tenantId} and rules.key = named.key and status <> 'archived')
      when 'Agent' then exists (
        select from agents where tenant_id = ${tenantId} and agents.key = named.key and status = 'active')
      when 'ConnectionType' then exists (
        select from connection_types where tenant_id = ${tenantId} and connection_types.key = named.key)
      else false end
    order by named.kind, named.key`;
}

/**
 * Links objects to a package; existing links to it stay unchanged. Documents and retirements of another package for the
 * same objects are deleted. The caller holds the lock on packages.
 */
export function insertPackageObjects(
  { tenantId, key, version, installHash }: Omit<InstalledPackage, 'title' | 'id'>,
  appliedBy: 'installer',
  objects: readonly { kind: string; key: string }[],
) {
  const [kinds, keys] = [objects.map((one) => one.kind), objects.map((one) => one.key)];
  return sql`
    insert into package_objects (tenant_id, kind, key, package_key, version, install_hash, applied_by)
    select ${tenantId}, named.kind, named.key, ${key}, ${version}, ${installHash}, ${appliedBy}
    from (select distinct kind, key from unnest(${kinds}::text[], ${keys}::text[]) as named (kind, key)) as named
    on conflict (tenant_id, kind, key) do update
    set package_key = excluded.package_key, version = excluded.version, install_hash = excluded.install_hash,
      applied_by = excluded.applied_by, installed_at = now(), retired_at = null,
      said = case when package_objects.package_key = excluded.package_key then package_objects.said end,
      was = case when package_objects.package_key = excluded.package_key then package_objects.was end
    where (package_objects.package_key, package_objects.version, package_objects.install_hash, package_objects.applied_by,
        package_objects.retired_at)
      is distinct from (excluded.package_key, excluded.version, excluded.install_hash, excluded.applied_by, null)`;
}
