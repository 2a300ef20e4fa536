import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { RunRow } from '../../leases/lease-rows.ts';

/** An approval of the tenant; the table belongs to a layer above, which keeps its rows for good. */
export function findApprovalId(tenantId: string, approvalId: string) {
  return sql<{ id: string }>`select id from approvals where id = ${approvalId} and tenant_id = ${tenantId}`;
}

/**
 * Ends a running run for now; its row must be locked. The journal's horizon lies before this change.
 * @param metadata is added to the run's
 */
export function updateRunToSuspended(tenantId: string, runId: string, metadata: JsonObject) {
  return sql<RunRow & { horizon: number }>`
    update runs
    set status = 'suspended', finished_at = clock_timestamp(), metadata = metadata || ${JSON.stringify(metadata)}::jsonb,
      version = version + 1, updated_at = now()
    where id = ${runId} and tenant_id = ${tenantId} and status = 'running'
    returning *, journal_horizon() as horizon`;
}
