import { sql } from '@baton/kernel/database/sql';
import type { ControlMessageRow } from './control-message.ts';

export interface Resolution {
  tenantId: string;
  runId: string;
  messageId: string;
  status: string;
  safeBoundary: string | null;
  /** If it is blank, the sender's reason is kept. */
  reason: string;
  acknowledgedBy: string;
}

/**
 * Resolves an open message. The run, which is locked, gets its next version. An acknowledgement counts as progress, and
 * after an applied cancel request the run can't record further actions.
 */
export function updateMessageToResolved(resolution: Resolution) {
  return sql<ControlMessageRow & { run_version: number }>`
    with message as (
      update run_control_messages
      set status = ${resolution.status}, safe_boundary = ${resolution.safeBoundary},
        reason = coalesce(nullif(${resolution.reason}, ''), reason),
        acknowledged_by_principal_id = ${resolution.acknowledgedBy}, version = version + 1, resolved_at = clock_timestamp()
      where id = ${resolution.messageId} and run_id = ${resolution.runId} and tenant_id = ${resolution.tenantId}
        and status = 'accepted'
      returning *
    ), run as (
      update runs r
      set version = r.version + 1, updated_at = now(), last_progress_at = clock_timestamp(), stalled_at = null,
        stalls_at = clock_timestamp() + make_interval(secs => r.progress_timeout_seconds),
        cancel_applied_at = case when message.operation = 'request_cancel' and message.status = 'applied'
          then coalesce(r.cancel_applied_at, clock_timestamp()) else r.cancel_applied_at end
      from message where r.id = message.run_id
      returning r.version
    )
    select message.*, run.version as run_version from message, run`;
}
