import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { Lifecycle } from './lifecycle.ts';
import type { ClaimMoves } from './lifecycle-grammar.ts';
import type { TaskTypeRow } from './task-type.ts';
import type { StoredExecution } from './type-documents.ts';

export function findTaskType(tenantId: string, id: string) {
  return sql<TaskTypeRow>`
    select * from task_types where id = ${id} and tenant_id = ${tenantId}`;
}

/** The id of a type by key: by default of the newest active version. A specified version may be deprecated. */
export function findTaskTypeId(
  tenantId: string,
  { id, key, version }: { id: string | null; key: string; version: number | null },
) {
  return sql<{ id: string }>`
    select id from task_types
    where tenant_id = ${tenantId}
      and case when ${id}::uuid is not null then id = ${id}::uuid
        else key = ${key} and (version = ${version}::integer or (${version}::integer is null and status = 'active')) end
    order by version desc limit 1`;
}

/** Inserts the type with the next version of its key; the caller must lock the version. */
export function insertTaskType(type: NewTaskTypeValues) {
  return sql<TaskTypeRow>`
    insert into task_types (id, tenant_id, key, version, display_name, description, field_schema, lifecycle_schema,
      claim_status, claim_category, claim_from, release_status, release_category, claimable_blocked, execution,
      attempts_max, holds_start, approval_schema, context_schema, completion_schema, artifact_schema, instructions,
      acceptance, created_by)
    select ${type.id}, ${type.tenantId}, ${type.key}, coalesce(max(version), 0) + 1, ${type.displayName},
      ${type.description}, ${JSON.stringify(type.fieldSchema)}, ${JSON.stringify(type.lifecycle)},
      ${type.moves.claimStatus}, ${type.moves.claimCategory}, ${type.moves.claimFrom}, ${type.moves.releaseStatus},
      ${type.moves.releaseCategory}, ${type.moves.claimableBlocked}, ${JSON.stringify(type.execution)}::jsonb,
      ${type.execution.retry.maxAttempts ?? null}, ${type.execution.startDateHolds},
      ${JSON.stringify(type.approvalSchema)}, ${JSON.stringify(type.contextSchema)},
      ${JSON.stringify(type.completionSchema)}, ${JSON.stringify(type.artifactSchema)}, ${type.instructions},
      ${JSON.stringify(type.acceptance)}, ${type.createdBy}
    from task_types where tenant_id = ${type.tenantId} and key = ${type.key}
    returning *`;
}

export interface NewTaskTypeValues {
  id: string;
  tenantId: string;
  key: string;
  displayName: string;
  description: string;
  fieldSchema: JsonObject;
  lifecycle: Lifecycle;
  moves: ClaimMoves;
  execution: StoredExecution;
  approvalSchema: object;
  contextSchema: JsonObject;
  completionSchema: object;
  artifactSchema: object;
  instructions: string;
  acceptance: readonly object[];
  createdBy: string;
}

/** Counts the active versions of a type's key. */
export function countActiveVersions(tenantId: string, key: string) {
  return sql<{ versions: number }>`
    select count(*) as versions from task_types
    where tenant_id = ${tenantId} and key = ${key} and status = 'active'`;
}

export function updateTaskTypeToDeprecated(tenantId: string, id: string) {
  return sql<TaskTypeRow>`
    update task_types set status = 'deprecated', updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** The newest version of each of these keys of artifact types. */
export function findNewestArtifactTypes(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string; media_types: string[] }>`
    select distinct on (key) key, media_types from artifact_types
    where tenant_id = ${tenantId} and key = any (${keys})
    order by key, version desc`;
}

const build = queryBuilder<{ task_types: TaskTypeRow }>();

const newestFirst: ListOrder<TaskTypeRow> = {
  cursor: 'task_types',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findTaskTypes(
  tenantId: string,
  filter: { [Column in 'key' | 'status' | 'package_key']: string | undefined },
  page: Page,
) {
  const query = build.selectFrom('task_types').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
