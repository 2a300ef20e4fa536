import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { ExternalName, ExternalReferenceRow } from './external-reference.ts';

export interface NewReference extends ExternalName {
  id: string;
  tenantId: string;
  entityType: ExternalReferenceRow['entity_type'];
  entityId: string;
  referenceKey: string;
  metadata: JsonObject;
  createdBy: string;
}

/** Returns no row if the name is in use; waits for a transaction that is setting it. */
export function insertReference(reference: NewReference) {
  return sql<ExternalReferenceRow>`
    insert into external_references (id, tenant_id, entity_type, entity_id, external_system, external_type, external_id,
      reference_key, metadata, created_by)
    values (${reference.id}, ${reference.tenantId}, ${reference.entityType}, ${reference.entityId}, ${reference.externalSystem},
      ${reference.externalType}, ${reference.externalId}, ${reference.referenceKey}, ${JSON.stringify(reference.metadata)},
      ${reference.createdBy})
    on conflict (tenant_id, reference_key) do nothing
    returning *`;
}

export function lockReferenceByName(tenantId: string, referenceKey: string) {
  return sql<ExternalReferenceRow>`
    select * from external_references where tenant_id = ${tenantId} and reference_key = ${referenceKey}
    for no key update`;
}

export function findReferenceByName(tenantId: string, referenceKey: string) {
  return sql<ExternalReferenceRow>`
    select * from external_references where tenant_id = ${tenantId} and reference_key = ${referenceKey}`;
}

export function findReference(tenantId: string, id: string) {
  return sql<ExternalReferenceRow>`select * from external_references where id = ${id} and tenant_id = ${tenantId}`;
}

export function updateReferenceMetadata(tenantId: string, id: string, metadata: JsonObject) {
  return sql<ExternalReferenceRow>`
    update external_references
    set metadata = ${JSON.stringify(metadata)}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function deleteReference(tenantId: string, id: string) {
  return sql<ExternalReferenceRow>`
    delete from external_references where id = ${id} and tenant_id = ${tenantId} returning *`;
}

const build = queryBuilder<{ external_references: ExternalReferenceRow }>();

const newestFirst: ListOrder<ExternalReferenceRow> = {
  cursor: 'external_references',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** Whether the viewer can see a named object. */
export function seesEntity(
  viewerId: string,
  entityType: ExternalReferenceRow['entity_type'],
  entityId: string,
) {
  return sql<{ sees: boolean }>`
    select case when ${entityType} = 'task' then sees_task(${viewerId}, ${entityId})
      else sees_workspace(${viewerId}, (select workspace_id from projects where id = ${entityId})) end as sees`;
}

export function findReferencesOf(tenantId: string, entityId: string, page: Page) {
  const query = build
    .selectFrom('external_references')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('entity_id', '=', entityId);
  return pageQuery(query, newestFirst, page);
}
