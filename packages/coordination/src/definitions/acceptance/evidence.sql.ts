import { sql } from '@baton/kernel/database/sql';

/** Returns those of the ids that belong to artifacts of the tenant visible to the viewer; null for unrestricted. */
export function findArtifactIds(tenantId: string, viewerId: string | null, ids: readonly string[]) {
  return sql<{ id: string }>`
    select id from artifacts
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and (${viewerId}::uuid is null or
      case when task_id is null then sees_workspace(${viewerId}, workspace_id) else sees_task(${viewerId}, task_id) end)`;
}

/** Like `findArtifactIds`, for observations. */
export function findObservationIds(tenantId: string, viewerId: string | null, ids: readonly string[]) {
  return sql<{ id: string }>`
    select id from observations
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and (${viewerId}::uuid is null or
      case when task_id is null then sees_workspace(${viewerId}, workspace_id) else sees_task(${viewerId}, task_id) end)`;
}

/** Like `findArtifactIds`, for context packs, which belong to the task for which they were recorded. */
export function findContextPackIds(tenantId: string, viewerId: string | null, ids: readonly string[]) {
  return sql<{ id: string }>`
    select id from context_packs
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}
      and (${viewerId}::uuid is null or sees_task(${viewerId}, task_id))`;
}
