import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { RunRow } from '../../leases/lease-rows.ts';

/** Finds an approval of the tenant. The table belongs to a higher layer, which never deletes rows. */
export function findApprovalId(tenantId: string, approvalId: string) {
  return sql<{ id: string }>`select id from approvals where id = ${approvalId} and tenant_id = ${tenantId}`;
}

/**
 * Suspends a running run, whose row must be locked. The returned journal horizon is earlier than this change.
 * @param metadata is merged into the run's
 */
export function updateRunToSuspended(tenantId: string, runId: string, metadata: JsonObject) {
  return sql<RunRow & { horizon: number }>`
    update runs
    set status = 'suspended', finished_at = clock_timestamp(), metadata = metadata || ${JSON.stringify(metadata)}::jsonb,
      version = version + 1, updated_at = now()
    where id = ${runId} and tenant_id = ${tenantId} and status = 'running'
    returning *, journal_horizon() as horizon`;
}
