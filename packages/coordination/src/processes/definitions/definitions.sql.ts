import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { KeyedDefinitionRow, ProcessDefinitionRow } from './definition.ts';

/** Creates a key, or waits for a concurrent transaction that creates it. */
export function insertProcessKey(tenantId: string, key: string) {
  return sql`insert into process_keys (tenant_id, key) values (${tenantId}, ${key}) on conflict do nothing`;
}

/** Locks a key; read its versions in a later statement. */
export function lockProcessKey(tenantId: string, key: string) {
  return sql`select from process_keys where tenant_id = ${tenantId} and key = ${key} for update`;
}

/** A version, or the latest one if null is given, with the current state of its key. */
export function findDefinition(tenantId: string, key: string, version: number | null) {
  return sql<KeyedDefinitionRow>`
    select v.id, v.tenant_id, v.workspace_id, v.key, v.version, v.definition_hash, v.identity_agent, v.governed_by,
      v.expression_profile, v.engine_revision, v.spec, v.warnings, v.is_latest, v.created_by, v.created_at, v.package, v.package_key,
      latest.status, latest.retired_at, latest.retired_by, latest.retired_reason, latest.version as latest_version
    from process_definitions latest join process_definitions v on v.tenant_id = latest.tenant_id and v.key = latest.key
    where latest.tenant_id = ${tenantId} and latest.key = ${key} and latest.is_latest
      and v.version = coalesce(${version}::integer, latest.version)`;
}

export interface NarrowVersionRow {
  key: string;
  version: number;
  created_by: string;
}

/** The versions whose authors currently see only their own workspaces. */
export function findNarrowVersions(tenantId: string) {
  return sql<NarrowVersionRow>`
    select d.key, d.version, d.created_by from process_definitions d
    where d.tenant_id = ${tenantId} and exists (
      select from iam_bindings b
      where b.principal_id = d.created_by and b.tenant_id = d.tenant_id and b.status = 'active'
        and b.visibility = 'members')`;
}

export type NewDefinition = Pick<
  ProcessDefinitionRow,
  | 'id'
  | 'tenant_id'
  | 'workspace_id'
  | 'key'
  | 'version'
  | 'definition_hash'
  | 'identity_agent'
  | 'governed_by'
  | 'expression_profile'
  | 'engine_revision'
  | 'spec'
  | 'warnings'
  | 'created_by'
>;

/**
 * Removes the `latest` flag from the current version, before the next one is inserted; the caller holds the lock on the
 * key.
 */
export function updateLatestToEarlier(tenantId: string, key: string) {
  return sql`
    update process_definitions
    set is_latest = false, status = 'active', retired_at = null, retired_by = null, retired_reason = null
    where tenant_id = ${tenantId} and key = ${key} and is_latest`;
}

export function insertDefinition(made: NewDefinition) {
  return sql`
    insert into process_definitions (id, tenant_id, workspace_id, key, version, definition_hash, identity_agent, governed_by,
      expression_profile, engine_revision, spec, warnings, created_by)
    values (${made.id}, ${made.tenant_id}, ${made.workspace_id}, ${made.key}, ${made.version}, ${made.definition_hash},
      ${made.identity_agent}, ${made.governed_by}, ${made.expression_profile}, ${made.engine_revision},
      ${JSON.stringify(made.spec)}, ${JSON.stringify(made.warnings)}, ${made.created_by})`;
}

/** Deletes the references of the previous version. */
export function deleteReferences(tenantId: string, key: string) {
  return sql`delete from process_references where tenant_id = ${tenantId} and key = ${key}`;
}

export function insertReferences(
  tenantId: string,
  key: string,
  references: readonly { kind: 'calendar' | 'document'; name: string }[],
) {
  return sql`
    insert into process_references (tenant_id, kind, name, key)
    select distinct ${tenantId}::uuid, kind, name, ${key}
    from unnest(${references.map(({ kind }) => kind)}::text[], ${references.map(({ name }) => name)}::text[]) as given (kind, name)`;
}

export function updateToRetired(tenantId: string, key: string, by: string, reason: string) {
  return sql`
    update process_definitions
    set status = 'retired', retired_at = now(), retired_by = ${by}, retired_reason = ${reason}
    where tenant_id = ${tenantId} and key = ${key} and is_latest`;
}

const build = queryBuilder<{
  process_definitions: ProcessDefinitionRow;
  process_references: { tenant_id: string; kind: string; name: string; key: string };
}>();

const newestFirst: ListOrder<ProcessDefinitionRow> = {
  cursor: 'process-definitions',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type DefinitionFilter = {
  readonly key: string | undefined;
  readonly workspace_id: string | undefined;
  readonly status: string | undefined;
  readonly package_key: string | undefined;
};

/** The latest version of each key. @param governedBy only those that list this document in `governedBy` */
export function listOfDefinitions(
  tenantId: string,
  filter: DefinitionFilter,
  governedBy: string | undefined,
): SeenList<ProcessDefinitionRow> {
  const foundIn = (source: 'process_definitions') => {
    const query = build
      .selectFrom(source)
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('is_latest', '=', true);
    const found = matching(query, filter);
    if (governedBy === undefined) return found;
    const keys = build
      .selectFrom('process_references')
      .select('process_references.key')
      .where('process_references.tenant_id', '=', tenantId)
      .where('process_references.kind', '=', 'document')
      .where('process_references.name', '=', governedBy);
    return found.where('key', 'in', keys);
  };
  return seenByPlace(tenantId, 'process_definitions', foundIn, newestFirst);
}

const newestVersionFirst: ListOrder<ProcessDefinitionRow> = {
  cursor: 'process-versions',
  columns: { version: 'integer' },
  direction: 'desc',
};

/** @param viewerId null for callers who see everything: a version has the visibility of its workspace */
export function findVersions(tenantId: string, key: string, viewerId: string | null, page: Page) {
  const query = build
    .selectFrom('process_definitions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('key', '=', key);
  const seen =
    viewerId === null
      ? query
      : query.where(condition`(workspace_id is null or sees_workspace(${viewerId}::uuid, workspace_id))`);
  return pageQuery(seen, newestVersionFirst, page);
}
