import type { ItemPage } from '@baton/kernel/database/list';
import { checkDocument } from '../../service/documents.ts';
import type { WholeListQuery } from '../../service/whole-list.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { journalPage, journalSlice } from '../runs/journal-page.ts';
import { requireLiveRun } from '../runs/live-run.ts';
import {
  type HarnessManifest,
  type ManifestRemark,
  type ManifestRemarkRequest,
  type ManifestRow,
  manifestOf,
} from './manifest.ts';
import { appendRemark, countManifests, findManifest, findManifests, findPackOfRun } from './manifests.sql.ts';

/** The maximum total size of the remarks on one version, as JSON. */
const remarksBytesMax = 262_144;

/**
 * Reads a version of a run's manifest, by default the newest (docs/reference/runs.md#manifest). @throws Refusal
 * `not_found`
 */
export async function getManifest(
  context: Context,
  runId: string,
  version: number | undefined,
): Promise<HarnessManifest> {
  return addContextPack(context, await requireManifest(context, runId, version ?? null));
}

/** Adds the context that was recorded for the claim of the manifest's run. */
export async function addContextPack({ db, tenantId }: Context, row: ManifestRow): Promise<HarnessManifest> {
  const pack = await db.row(findPackOfRun(tenantId, row.run_id));
  return manifestOf({ ...row, context_pack_id: pack?.id ?? null });
}

/** @throws Refusal `not_found` for an unknown run or version, and for a run without a manifest */
export async function requireManifest(
  { db, tenantId }: Context,
  runId: string,
  version: number | null,
): Promise<ManifestRow> {
  return (await db.row(findManifest(tenantId, runId, version))) ?? fail('not_found');
}

/**
 * Lists the versions of a run's manifest, oldest first. @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor`
 */
export async function listManifests(
  { db, tenantId }: Context,
  runId: string,
  query: WholeListQuery,
): Promise<ItemPage<HarnessManifest>> {
  const { count } = (await db.row(countManifests(tenantId, runId))) ?? fail('not_found');
  const slice = journalSlice(query, 'manifests', runId);
  const rows = await db.rows(findManifests(tenantId, runId, slice));
  const context_pack_id = (await db.row(findPackOfRun(tenantId, runId)))?.id ?? null;
  return journalPage(slice, rows, count, (row) => manifestOf({ ...row, context_pack_id }));
}

/**
 * Adds a remark to the newest version of a run's manifest. Requires the run's live claim.
 * @throws Refusal those of a document, those of `requireLiveRun`, `payload_too_large` if the remarks of the version
 * would exceed 256 KiB
 */
export async function addManifestRemark(
  context: Context,
  runId: string,
  { kind, summary, data }: ManifestRemarkRequest,
): Promise<ManifestRemark> {
  checkDocument(data, { field: 'data' });
  await requireLiveRun(context, runId);
  const active = await requireManifest(context, runId, null);
  const remark = { kind, summary, data, createdBy: context.caller.principalId };
  const added = await context.db.row(appendRemark(active, remark, remarksBytesMax));
  if (added === undefined) fail('payload_too_large', { field: 'ephemeral', maxBytes: remarksBytesMax });
  return added.remark;
}
