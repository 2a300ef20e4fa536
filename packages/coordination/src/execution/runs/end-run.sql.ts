import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { EndedRunRow, RunRow } from '../../leases/lease-rows.ts';
import type { TaskRow } from '../../work/tasks/task.ts';

/** A run's task, locked, with the immutable fields of the run. */
export type TaskOfRunRow = TaskRow & {
  run_status: RunRow['status'];
  run_principal_id: string;
  run_claim_id: string;
  run_fencing_token: number;
  run_child_handle_id: string | null;
};

/**
 * Locks the task of a run. The task's columns are read under the lock, but the run's status as of the start of the
 * statement: a run can end without its task being locked, so an update that ends it must repeat `status = 'running'`.
 * Shared locks on the run's session are taken before the task's lock, so that an end of the session is either visible
 * or waits.
 */
export function lockTaskOfRun(tenantId: string, runId: string) {
  return sql<TaskOfRunRow>`
    with entered as materialized (
      select enter_session(s.id, s.principal_id, s.on_behalf_of_id) as live_until
      from runs r join sessions s on s.id = r.session_id
      where r.id = ${runId} and r.tenant_id = ${tenantId}
    ), locked as materialized (
      select t.*, r.status as run_status, r.principal_id as run_principal_id, r.claim_id as run_claim_id,
        r.fencing_token as run_fencing_token, r.child_handle_id as run_child_handle_id
      from runs r join tasks t on t.id = r.task_id
      where r.id = ${runId} and r.tenant_id = ${tenantId} and (select count(live_until) from entered) >= 0
      for no key update of t
    )
    select locked.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = locked.workspace_id) as project_id
    from locked join task_types tt on tt.id = locked.type_id`;
}

/** Ends a running run; returns no row if it isn't running. */
export function updateRunToEnded(end: {
  tenantId: string;
  runId: string;
  status: 'succeeded' | 'failed' | 'cancelled';
  failureReason: string | null;
  output: JsonObject | null;
}) {
  return sql<EndedRunRow>`
    update runs r
    set status = ${end.status}, failure_reason = ${end.failureReason}, finished_at = now(), version = r.version + 1,
      updated_at = now(), output = coalesce(${end.output === null ? null : JSON.stringify(end.output)}::jsonb, r.output)
    from tasks t
    where r.id = ${end.runId} and r.tenant_id = ${end.tenantId} and r.status = 'running' and t.id = r.task_id
    returning r.*, t.workspace_id`;
}
