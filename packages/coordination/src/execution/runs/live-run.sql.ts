import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { RunRow } from '../../leases/lease-rows.ts';
import type { Tables } from '../../service/schema.ts';

/** A running run under its live claim, locked. */
export type LiveRunRow = RunRow &
  Pick<RowOf<Tables['tasks']>, 'workspace_id'> & {
    /** Whether the run has exceeded its `maxDurationSeconds`. */
    is_over_time: boolean;
  };

/**
 * Locks a running run under its live claim, for its principal: session, task, run. Returns no row if a condition fails.
 *
 * As for a heartbeat: every command that ends a claim also writes the task's row, so claim and epoch are checked on
 * that row, and again after a wait for its lock. The lease is also checked once the run is locked.
 */
export function lockLiveRun(of: { tenantId: string; runId: string; principalId: string }) {
  return sql<LiveRunRow>`
    with holder as materialized (
      select r.task_id, r.claim_id, r.fencing_token, enter_session(s.id, s.principal_id, s.on_behalf_of_id) as live_until,
        d.expires_at as delegated_until
      from runs r join sessions s on s.id = r.session_id
      left join delegations d on d.id = s.delegation_id and d.revoked_at is null
      where r.id = ${of.runId} and r.tenant_id = ${of.tenantId} and r.principal_id = ${of.principalId}
        and r.status = 'running' and (s.delegation_id is null or d.id is not null)
    ), task as materialized (
      select t.workspace_id, least(t.lease_expires_at, holder.live_until, holder.delegated_until) as live_until
      from holder join tasks t on t.id = holder.task_id
      where holder.live_until is not null and t.active_claim_id = holder.claim_id
        and t.claim_epoch = holder.fencing_token
      for no key update of t
    ), run as materialized (
      select r.* from runs r
      where r.id = ${of.runId} and r.status = 'running' and (select count(live_until) from task) = 1
      for no key update of r
    )
    select run.*, task.workspace_id,
      coalesce(clock_timestamp() >= run.started_at + make_interval(secs => run.max_duration_seconds), false) as is_over_time
    from run, task where task.live_until > clock_timestamp()`;
}
