import { z } from 'zod';
import { measureDocument } from '@baton/values/document-size';
import { type JsonObject, Uuid } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { unsafeIn } from '../../service/durable-text/durable-text.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { EndedRunRow } from '../lease-rows.ts';
import { childResolved } from './children.events.ts';
import { countArtifacts, findArtifactsOfRuns, updateHandlesToResolved } from './children.sql.ts';

/** The limits of a child's result. See docs/reference/actions-and-usage.md#results. */
export const childResultMax = { summaryCharacters: 2_000, dataBytes: 16_384, artifactRefs: 50 };

/** The result of a child for its parent, in addition to the child's outcome. */
export interface ChildResult {
  readonly summary: string;
  readonly data: JsonObject;
  /** If absent, the oldest artifacts of the run are used. */
  readonly artifactRefs: readonly string[] | undefined;
}

const ArtifactRefs = z.array(Uuid);
const partNames = ['summary', 'data', 'artifactRefs'];

/**
 * Extracts the result of a launched run from its output: `summary`, `data` and `artifactRefs`, or the whole output as
 * data if it has none of these fields.
 * @throws Refusal `invalid_document`, `child_result_too_large`, `unsafe_child_result`, `secret_material_rejected`,
 * `non_canonical_value`, `not_found` for an artifact
 */
export async function childResultOf(
  { db, tenantId }: Context,
  output: JsonObject | null | undefined,
): Promise<ChildResult> {
  const result = partsOf(output ?? {});
  refuseTooLarge(result);
  const unsafe = unsafeIn({ summary: result.summary, data: result.data });
  if (unsafe !== undefined) fail('unsafe_child_result', { ...unsafe });
  refuseSecretKeys(result.data, 'output.data');
  refuseSecretText(JSON.stringify(result.data), 'output.data');
  refuseSecretText(result.summary, 'output.summary');
  canonicalHash(result.data);
  const { artifactRefs = [] } = result;
  if (artifactRefs.length > 0) {
    const found = (await db.row(countArtifacts(tenantId, artifactRefs)))?.count;
    if (found !== artifactRefs.length) fail('not_found', { field: 'output.artifactRefs' });
  }
  return result;
}

function partsOf(output: JsonObject): ChildResult {
  if (!partNames.some((name) => Object.hasOwn(output, name)))
    return { summary: '', data: output, artifactRefs: undefined };
  const { summary, data, artifactRefs } = output;
  const refs = ArtifactRefs.safeParse(artifactRefs ?? []);
  if (typeof (summary ?? '') !== 'string') fail('invalid_document', { field: 'output.summary' });
  if (typeof (data ?? {}) !== 'object' || Array.isArray(data))
    fail('invalid_document', { field: 'output.data' });
  if (!refs.success) fail('invalid_document', { field: 'output.artifactRefs' });
  return {
    summary: (summary ?? '') as string,
    data: (data ?? {}) as JsonObject,
    artifactRefs: artifactRefs == null ? undefined : [...new Set(refs.data)],
  };
}

function refuseTooLarge({ summary, data, artifactRefs = [] }: ChildResult): void {
  const { summaryCharacters, dataBytes, artifactRefs: refsMax } = childResultMax;
  const bytes = measureDocument(data).bytes;
  if (summary.length > summaryCharacters)
    fail('child_result_too_large', { field: 'summary', maxCharacters: summaryCharacters });
  if (bytes > dataBytes)
    fail('child_result_too_large', { field: 'data', maxBytes: dataBytes, actualBytes: bytes });
  if (artifactRefs.length > refsMax)
    fail('child_result_too_large', { field: 'artifactRefs', maxItems: refsMax });
}

/**
 * Stores the results of launched runs in their handles and writes the events on the runs that launched them; a result
 * is written once. The runs must have ended in this change; runs that were not launched by another run are skipped
 * at no cost.
 * @param given the executor's result; without it the summary is the reason for the failure
 * @param causationId the cause of their end, unless their own executor ended them
 */
export async function recordChildResults(
  context: Context,
  runs: readonly EndedRunRow[],
  given?: ChildResult,
  causationId?: string,
): Promise<void> {
  const children = runs.filter((run) => run.child_handle_id !== null);
  if (children.length === 0) return;
  const artifactRefs = await artifactsOf(context, children, given);
  const results = children.map((run) => newResult(run, artifactRefs.get(run.id) ?? [], given));
  const byHandle = new Map(children.map((run) => [run.child_handle_id, run]));
  for (const handle of await context.db.rows(updateHandlesToResolved(context.tenantId, results))) {
    const run = byHandle.get(handle.id) as EndedRunRow;
    emit(
      context,
      childResolved,
      {
        entityId: handle.parent_run_id,
        workspaceId: handle.parent_workspace_id,
        sessionId: run.session_id,
        causationId: causationId ?? handle.id,
      },
      {
        childHandleId: handle.id,
        childTaskId: handle.child_task_id,
        childRunId: run.id,
        correlationId: handle.correlation_id,
        attempt: run.attempt,
        outcome: handle.outcome as 'succeeded' | 'failed' | 'cancelled',
        resultHash: handle.result_hash as string,
        artifactRefs: handle.artifact_refs as string[],
      },
    );
  }
}

async function artifactsOf(
  { db, tenantId }: Context,
  runs: readonly EndedRunRow[],
  given: ChildResult | undefined,
): Promise<Map<string, readonly string[]>> {
  if (given?.artifactRefs !== undefined) return new Map(runs.map(({ id }) => [id, given.artifactRefs ?? []]));
  const runIds = runs.map(({ id }) => id);
  const found = await db.rows(findArtifactsOfRuns(tenantId, runIds, childResultMax.artifactRefs));
  return new Map(found.map(({ run_id, artifact_ids }) => [run_id, artifact_ids]));
}

function newResult(run: EndedRunRow, artifactRefs: readonly string[], given: ChildResult | undefined) {
  const outcome = run.status;
  const reason = (run.failure_reason ?? '').slice(0, childResultMax.summaryCharacters).toWellFormed();
  const { summary = '', data = {} } = given ?? {};
  const result = { outcome, summary: summary === '' ? reason : summary, data };
  return {
    handle_id: run.child_handle_id as string,
    run_id: run.id,
    ...result,
    artifact_refs: artifactRefs,
    result_hash: canonicalHash({ ...result, artifactRefs: [...artifactRefs] }),
  };
}
