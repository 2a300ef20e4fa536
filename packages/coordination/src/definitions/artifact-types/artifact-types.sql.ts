import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { ArtifactTypeRef, ArtifactTypeRow } from './artifact-type.ts';

/** Finds a type by its id, or by its key and version; without a version, the newest one. */
export function findArtifactType(tenantId: string, ref: ArtifactTypeRef) {
  return sql<ArtifactTypeRow>`
    select * from artifact_types
    where tenant_id = ${tenantId}
      and (id = ${ref.id}::uuid
        or (key = ${ref.key} and version = coalesce(${ref.version}::integer, version)))
    order by (id = ${ref.id}::uuid) desc nulls last, version desc limit 1`;
}

/** Inserts the type with the next version of its key; the caller must lock the version. */
export function insertArtifactType(type: {
  id: string;
  tenantId: string;
  key: string;
  displayName: string;
  description: string;
  metadataSchema: JsonObject;
  mediaTypes: readonly string[];
  maxBytes: number | null;
  createdBy: string;
}) {
  return sql<ArtifactTypeRow>`
    insert into artifact_types (id, tenant_id, key, version, display_name, description, metadata_schema, media_types,
      max_bytes, created_by)
    select ${type.id}, ${type.tenantId}, ${type.key}, coalesce(max(version), 0) + 1, ${type.displayName},
      ${type.description}, ${JSON.stringify(type.metadataSchema)}, ${type.mediaTypes}, ${type.maxBytes}, ${type.createdBy}
    from artifact_types where tenant_id = ${type.tenantId} and key = ${type.key}
    returning *`;
}

const build = queryBuilder<{ artifact_types: ArtifactTypeRow }>();

const newestFirst: ListOrder<ArtifactTypeRow> = {
  cursor: 'artifact_types',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findArtifactTypes(
  tenantId: string,
  filter: { [Column in 'key' | 'package_key']: string | undefined },
  page: Page,
) {
  const query = build.selectFrom('artifact_types').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
