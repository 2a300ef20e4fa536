import { sql } from '@baton/kernel/database/sql';
import type { AttemptRow } from '../../work/verifications/attempt.ts';
import { coreTypes } from '../artifacts/artifact.ts';
import type { Provers } from '../provers/provers.ts';

/** A recorded item that evidence refers to: its author and its task. */
export interface RecordedFactRow {
  id: string;
  author: string;
  task_id: string | null;
}

/**
 * The artifacts and observations with these ids. An artifact that the core recorded counts as no principal's statement.
 */
export function findRecordedFacts(tenantId: string, ids: readonly string[]) {
  return sql<RecordedFactRow>`
    select id, created_by as author, task_id from artifacts
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and type <> all (${coreTypes}::text[])
    union all
    select id, created_by, task_id from observations
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`;
}

/**
 * An event of a type on a task since an attempt began; an observation about the task counts as an event on it.
 * @param provers the authors that the event may have; null for any author
 */
export function findEventOfTask(
  tenantId: string,
  taskId: string,
  type: string,
  { opened_position: position, started_at: startedAt }: AttemptRow,
  provers: Provers | null,
) {
  const { principalId = null, roleId = null, workspaceId = null, barred = [] } = provers ?? {};
  // An event without an actor is not from a prover.
  const isOfAnybody = provers === null;
  return sql<{ id: string; author: string | null }>`
    with holders as materialized (
      select principal_id from role_assignments
      where role_id = ${roleId}::uuid and tenant_id = ${tenantId}
        and (workspace_id is null or workspace_id = any (
          (select path from workspaces where id = ${workspaceId}::uuid and tenant_id = ${tenantId})::uuid[]))
    ), found as (
      (select id, actor_id as author from events
      where tenant_id = ${tenantId} and entity_id = ${taskId} and position >= ${position} and type = ${type}
        and (${principalId}::uuid is null or actor_id = ${principalId}::uuid)
        and (${roleId}::uuid is null or actor_id in (select principal_id from holders))
        and (${isOfAnybody}::boolean or actor_id is not null and actor_id <> all (${barred}::uuid[]))
      order by position, sequence limit 1)
      union all
      (select id, actor_id from archived_events
      where tenant_id = ${tenantId} and entity_id = ${taskId} and position >= ${position} and type = ${type}
        and (${principalId}::uuid is null or actor_id = ${principalId}::uuid)
        and (${roleId}::uuid is null or actor_id in (select principal_id from holders))
        and (${isOfAnybody}::boolean or actor_id is not null and actor_id <> all (${barred}::uuid[]))
      order by position, sequence limit 1)
      union all
      (select event_id, created_by from observations
      where ${type} = 'observation.recorded' and tenant_id = ${tenantId} and task_id = ${taskId}
        and recorded_at >= ${startedAt}
        and (${principalId}::uuid is null or created_by = ${principalId}::uuid)
        and (${roleId}::uuid is null or created_by in (select principal_id from holders))
        and created_by <> all (${barred}::uuid[])
      limit 1)
    )
    select id, author from found limit 1`;
}
