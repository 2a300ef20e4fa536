import { FreeObject, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { type RunRow, runStatuses } from '../../leases/lease-rows.ts';

/** One attempt to execute a task (core, section 10). */
export const Run = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  taskId: Uuid,
  claimId: Uuid,
  principalId: Uuid,
  sessionId: Uuid,
  fencingToken: z.int().positive(),
  attempt: z.int().positive(),
  status: z.enum(runStatuses),
  startedAt: Timestamp,
  finishedAt: Timestamp.nullable(),
  input: FreeObject.nullable(),
  output: FreeObject.nullable(),
  failureReason: z.string().nullable(),
  cancelRequestedAt: Timestamp.nullable(),
  cancelRequestedBy: Uuid.nullable(),
  maxDurationSeconds: z.int().nullable(),
  maxActions: z.int().nullable(),
  metadata: FreeObject,
  instructionsHash: z.string().nullable(),
  instructionsRefs: z.array(z.string()).nullable(),
  agentRevisionId: Uuid.nullable(),
  version: z.int().positive(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type Run = z.infer<typeof Run>;

/** A row as clients see it. */
export function runOf(row: RunRow): Run {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    taskId: row.task_id,
    claimId: row.claim_id,
    principalId: row.principal_id,
    sessionId: row.session_id,
    fencingToken: row.fencing_token,
    attempt: row.attempt,
    status: row.status,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    input: row.input,
    output: row.output,
    failureReason: row.failure_reason,
    cancelRequestedAt: row.cancel_requested_at,
    cancelRequestedBy: row.cancel_requested_by,
    maxDurationSeconds: row.max_duration_seconds,
    maxActions: row.max_actions,
    metadata: row.metadata,
    instructionsHash: row.instructions_hash,
    instructionsRefs: row.instructions_refs,
    agentRevisionId: row.agent_revision_id,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
