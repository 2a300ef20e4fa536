import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { JournalSlice } from '../runs/journal-page.ts';
import type { CheckpointRow } from './checkpoint.ts';

/** Inserts a checkpoint with the run's next number and records progress. The run's row must be locked. */
export function insertCheckpoint(checkpoint: {
  id: string;
  tenantId: string;
  runId: string;
  principalId: string;
  kind: string;
  data: JsonObject;
}) {
  const data = JSON.stringify(checkpoint.data);
  return sql<CheckpointRow>`
    with run as (
      update runs
      set checkpoint_count = checkpoint_count + 1, last_progress_at = clock_timestamp(), stalled_at = null,
        stalls_at = clock_timestamp() + make_interval(secs => progress_timeout_seconds)
      where id = ${checkpoint.runId} and tenant_id = ${checkpoint.tenantId}
      returning id, tenant_id, task_id, checkpoint_count, last_progress_at
    )
    insert into checkpoints (id, tenant_id, run_id, task_id, created_by_principal_id, seq, kind, data, data_bytes, created_at)
    select ${checkpoint.id}, run.tenant_id, run.id, run.task_id, ${checkpoint.principalId}, run.checkpoint_count,
      ${checkpoint.kind}, ${data}, ${Buffer.byteLength(data)}, run.last_progress_at
    from run
    returning *`;
}

/** Counts the checkpoints of a run; returns no row for an unknown run. */
export function countCheckpoints(tenantId: string, runId: string) {
  return sql<{ count: number }>`
    select checkpoint_count as count from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export function findCheckpoints(tenantId: string, runId: string, slice: JournalSlice) {
  return sql<CheckpointRow>`
    select id, tenant_id, run_id, task_id, created_by_principal_id, seq, kind, data, data_bytes, created_at
    from (
      select *, sum(data_bytes) over (order by seq) - data_bytes as bytes_before from (
        select * from checkpoints
        where run_id = ${runId} and tenant_id = ${tenantId} and seq > ${slice.afterSeq}
        order by seq limit ${slice.rowsMax}
      ) as ordered
    ) as measured
    where bytes_before < ${slice.bytesMax}
    order by seq`;
}
