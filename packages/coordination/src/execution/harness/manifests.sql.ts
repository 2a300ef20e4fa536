import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { JournalSlice } from '../runs/journal-page.ts';
import type { ManifestRemark, ManifestRow } from './manifest.ts';

/** Finds a version of a run's manifest; by default the newest, which is the active one. */
export function findManifest(tenantId: string, runId: string, version: number | null) {
  return sql<ManifestRow>`
    select * from harness_manifests
    where run_id = ${runId} and tenant_id = ${tenantId} and (${version}::integer is null or version = ${version}::integer)
    order by version desc limit 1`;
}

/** Counts the versions of a run's manifest; returns no row for an unknown run. */
export function countManifests(tenantId: string, runId: string) {
  return sql<{ count: number }>`
    select coalesce((select max(version) from harness_manifests where run_id = runs.id), 0) as count
    from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export function findManifests(tenantId: string, runId: string, slice: JournalSlice) {
  return sql<ManifestRow & { seq: number }>`
    select run_id, version, tenant_id, reason, base, captured, declared, remarks, remarks_bytes, data_bytes, created_at,
      created_by, version as seq
    from (
      select *, sum(data_bytes) over (order by version) - data_bytes as bytes_before from (
        select * from harness_manifests
        where run_id = ${runId} and tenant_id = ${tenantId} and version > ${slice.afterSeq}
        order by version limit ${slice.rowsMax}
      ) as ordered
    ) as measured
    where bytes_before < ${slice.bytesMax}
    order by version`;
}

/** Finds the context that was recorded for the claim of a run. */
export function findPackOfRun(tenantId: string, runId: string) {
  return sql<{ id: string }>`
    select p.id from runs r join context_packs p on p.claim_id = r.claim_id
    where r.id = ${runId} and r.tenant_id = ${tenantId}`;
}

/** The data about a run that may have changed since its manifest was compiled. */
export interface SurroundingsRow {
  type_key: string;
  type_version: number;
  workspace_id: string | null;
  task_version: number;
  horizon: number;
  tools: JsonObject[];
}

export function findSurroundings(
  tenantId: string,
  run: { task_id: string; principal_id: string; session_id: string },
) {
  return sql<SurroundingsRow>`
    select tt.key as type_key, tt.version as type_version, t.workspace_id, t.version as task_version,
      journal_horizon() as horizon, tool_policy(${run.principal_id}, ${run.session_id}) as tools
    from tasks t join task_types tt on tt.id = t.type_id
    where t.id = ${run.task_id} and t.tenant_id = ${tenantId}`;
}

export interface NewManifest {
  tenantId: string;
  runId: string;
  version: number;
  reason: string;
  base: JsonObject;
  captured: ManifestRow['captured'];
  declared: readonly string[];
  principalId: string;
}

/** Inserts the next version; the run must be locked. */
export function insertManifest(manifest: NewManifest) {
  const base = JSON.stringify(manifest.base);
  return sql<ManifestRow>`
    insert into harness_manifests (run_id, version, tenant_id, reason, base, captured, declared, data_bytes, created_by)
    values (${manifest.runId}, ${manifest.version}, ${manifest.tenantId}, ${manifest.reason}, ${base},
      ${JSON.stringify(manifest.captured)}, ${manifest.declared}, ${Buffer.byteLength(base)}, ${manifest.principalId})
    returning *`;
}

/** Adds a remark to a version, if the total size of its remarks stays within the limit; otherwise returns no row. */
export function appendRemark(
  manifest: Pick<ManifestRow, 'run_id' | 'tenant_id' | 'version'>,
  remark: Omit<ManifestRemark, 'createdAt'>,
  bytesMax: number,
) {
  const text = JSON.stringify(remark);
  const bytes = Buffer.byteLength(text);
  return sql<{ remark: ManifestRemark }>`
    update harness_manifests
    set remarks = remarks || jsonb_build_array(${text}::jsonb || jsonb_build_object('createdAt',
        to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
      remarks_bytes = remarks_bytes + ${bytes}, data_bytes = data_bytes + ${bytes}
    where run_id = ${manifest.run_id} and tenant_id = ${manifest.tenant_id} and version = ${manifest.version}
      and remarks_bytes + ${bytes} <= ${bytesMax}
    returning remarks -> -1 as remark`;
}
