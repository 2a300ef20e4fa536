import { sql } from '@baton/kernel/database/sql';
import type { ChildHandleOfParentRow } from './child-handle-row.ts';

/** Reads the ceiling of a launched run; returns no row for a run that was not launched by another run. */
export function findGrantOfRun(tenantId: string, runId: string) {
  return sql<{ permissions: string[] }>`
    select h.permissions from runs r join child_handles h on h.id = r.child_handle_id
    where r.id = ${runId} and r.tenant_id = ${tenantId}`;
}

/** A running run of the principal that another run launched. */
export function findLaunchedRun(tenantId: string, principalId: string) {
  return sql<{ id: string }>`
    select id from runs
    where principal_id = ${principalId} and tenant_id = ${tenantId} and status = 'running' and child_handle_id is not null
    limit 1`;
}

/** Locks a handle, after its child's task and run. Its expiry is compared with the clock under the lock. */
export function lockHandle(tenantId: string, handleId: string) {
  return sql<ChildHandleOfParentRow & { is_over: boolean }>`
    with handle as materialized (
      select * from child_handles where id = ${handleId} and tenant_id = ${tenantId} for no key update
    )
    select handle.*, handle.expires_at <= clock_timestamp() as is_over, t.workspace_id as parent_workspace_id
    from handle join tasks t on t.id = handle.parent_task_id`;
}

/** The running run of a task, locked. */
export function lockRunningRun(tenantId: string, taskId: string) {
  return sql<{ id: string; claim_id: string }>`
    select id, claim_id from runs
    where task_id = ${taskId} and tenant_id = ${tenantId} and status = 'running'
    for no key update`;
}

export function findRunStatus(tenantId: string, runId: string) {
  return sql<{ status: string }>`select status from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export function updateHandleToBound(tenantId: string, handleId: string, runId: string) {
  return sql<object>`
    update child_handles set child_run_id = ${runId}, handle_version = handle_version + 1
    where id = ${handleId} and tenant_id = ${tenantId}`;
}

export interface NewResult {
  handle_id: string;
  run_id: string;
  outcome: string;
  summary: string;
  data: object;
  artifact_refs: readonly string[];
  result_hash: string;
}

/** Stores results of locked runs; skips a handle that has a result or is bound to a later run. */
export function updateHandlesToResolved(tenantId: string, results: readonly NewResult[]) {
  return sql<ChildHandleOfParentRow>`
    with resolved as (
      update child_handles h
      set outcome = g.outcome, summary = g.summary, data = g.data, result_hash = g.result_hash,
        artifact_refs = array(select jsonb_array_elements_text(g.artifact_refs))::uuid[],
        recorded_at = clock_timestamp(), handle_version = h.handle_version + 1
      from jsonb_to_recordset(${JSON.stringify(results)}::jsonb) as g(handle_id uuid, run_id uuid, outcome text,
        summary text, data jsonb, artifact_refs jsonb, result_hash text)
      where h.id = g.handle_id and h.tenant_id = ${tenantId} and h.child_run_id = g.run_id and h.recorded_at is null
      returning h.*
    )
    select resolved.*, t.workspace_id as parent_workspace_id
    from resolved join tasks t on t.id = resolved.parent_task_id order by resolved.id`;
}

/** The oldest artifacts of each run, at most `perRunMax` per run. */
export function findArtifactsOfRuns(tenantId: string, runIds: readonly string[], perRunMax: number) {
  return sql<{ run_id: string; artifact_ids: string[] }>`
    select run.id as run_id, array(
      select a.id from artifacts a where a.tenant_id = ${tenantId} and a.run_id = run.id
      order by a.created_at, a.id limit ${perRunMax}
    ) as artifact_ids
    from unnest(${runIds}::uuid[]) as run(id)`;
}

/** The number of the given ids that belong to artifacts of the tenant. */
export function countArtifacts(tenantId: string, artifactIds: readonly string[]) {
  return sql<{ count: number }>`
    select count(*) as count from artifacts where tenant_id = ${tenantId} and id = any (${artifactIds}::uuid[])`;
}
