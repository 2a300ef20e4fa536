import { sql } from '@baton/kernel/database/sql';
import type { EndedRunRow } from './lease-rows.ts';

/** Fails the running run of a task, if it has one. */
export function updateRunOfTaskToFailed(tenantId: string, taskId: string, reason: string) {
  return sql<EndedRunRow>`
    update runs r
    set status = 'failed', failure_reason = ${reason}, finished_at = now(), version = r.version + 1, updated_at = now()
    from tasks t
    where r.task_id = ${taskId} and r.tenant_id = ${tenantId} and r.status = 'running' and t.id = r.task_id
    returning r.*, t.workspace_id`;
}

/** Fails the running runs that were started under these claims. */
export function failRunsOfClaims(tenantId: string, claimIds: readonly string[], reason: string) {
  return sql<EndedRunRow>`
    update runs r
    set status = 'failed', failure_reason = ${reason}, finished_at = now(), version = r.version + 1, updated_at = now()
    from tasks t
    where r.claim_id = any (${claimIds}::uuid[]) and r.tenant_id = ${tenantId} and r.status = 'running'
      and t.id = r.task_id
    returning r.*, t.workspace_id`;
}
