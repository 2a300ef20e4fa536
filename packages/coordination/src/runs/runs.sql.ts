import type { JsonObject } from '@baton/kernel/wire';
import { sql } from '@baton/kernel/sql';

export const runStatuses = ['running', 'succeeded', 'failed', 'cancelled', 'suspended'] as const;

export interface RunRow {
  id: string;
  tenant_id: string;
  task_id: string;
  claim_id: string;
  principal_id: string;
  session_id: string;
  fencing_token: number;
  attempt: number;
  status: (typeof runStatuses)[number];
  started_at: string;
  finished_at: string | null;
  input: JsonObject | null;
  output: JsonObject | null;
  failure_reason: string | null;
  cancel_requested_at: string | null;
  cancel_requested_by: string | null;
  max_duration_seconds: number | null;
  max_actions: number | null;
  metadata: JsonObject;
  instructions_hash: string | null;
  instructions_refs: string[] | null;
  agent_revision_id: string | null;
  version: number;
  created_at: string;
  updated_at: string;
}

/** A run with the workspace of its task, for its events. */
export interface EndedRunRow extends RunRow {
  workspace_id: string | null;
}

/** Fails the running run of a task, if it has one. */
export function failRunOfTask(tenantId: string, taskId: string, reason: string) {
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
