import { eventText } from '@baton/values/event-text';
import type { JsonObject } from '@baton/values/wire';
import type { RunRow } from '../../leases/lease-rows.ts';
import { releaseClaims } from '../../leases/release.ts';
import { cursorAtHorizon } from '../../ledger/journal/cursor.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { unsafeIn } from '../../service/durable-text/durable-text.ts';
import type { Task } from '../../work/tasks/task.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import { writeCheckpoint } from '../checkpoints/checkpoints.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type LiveRunRow, requireLiveRun } from '../runs/live-run.ts';
import { runOf } from '../runs/run.ts';
import { runHandoffPrepared, runSuspended } from './handover.events.ts';
import { findApprovalId, updateRunToSuspended } from './suspend-run.sql.ts';
import {
  type HandedOffRun,
  HandoffCheckpoint,
  type HandoffRequest,
  type SuspendedRun,
  type SuspensionRequest,
} from './suspension.ts';

/**
 * Suspends a run and releases its task (docs/reference/runs.md#suspend). The next executor makes a new claim and starts
 * a new run.
 * @throws Refusal those of `requireLiveRun`, `not_found` for an unknown approval
 */
export async function suspendRun(
  context: Context,
  runId: string,
  { reason, waitingForApprovalId = null }: SuspensionRequest,
): Promise<SuspendedRun> {
  const run = await requireLiveRun(context, runId);
  if (waitingForApprovalId !== null) await requireApproval(context, waitingForApprovalId);
  const metadata: JsonObject = waitingForApprovalId === null ? {} : { waitingForApprovalId };
  const { row, task } = await suspend(context, run, { reason, releaseReason: reason, metadata });
  return { run: runOf(row), task };
}

async function requireApproval({ db, tenantId }: Context, approvalId: string): Promise<void> {
  if ((await db.row(findApprovalId(tenantId, approvalId))) === undefined) fail('not_found', { approvalId });
}

/**
 * Suspends a run with a last checkpoint that another executor or a person can continue from
 * (docs/reference/actions-and-usage.md#handoff).
 * @throws Refusal `invalid_handoff`, those of a document, `unsafe_handoff_payload`, `secret_material_rejected`, those
 * of `requireLiveRun`
 */
export async function handOffRun(
  context: Context,
  runId: string,
  { reason, checkpoint: given }: HandoffRequest,
): Promise<HandedOffRun> {
  const { kind, data } = parseHandoff(given);
  const run = await requireLiveRun(context, runId);
  const checkpoint = await writeCheckpoint(context, run, { kind, data });
  const { row, task } = await suspend(context, run, {
    reason,
    releaseReason: 'human_harness_handoff',
    metadata: { suspendReason: reason, handoffCheckpointId: checkpoint.id },
  });
  emit(context, runHandoffPrepared, aboutRun(run), {
    taskId: run.task_id,
    claimId: run.claim_id,
    checkpointId: checkpoint.id,
    fencingToken: run.fencing_token,
    reason: eventText(reason),
  });
  return {
    run: runOf(row),
    task,
    checkpoint,
    eventCursor: cursorAtHorizon(row.horizon),
    resume: { taskId: run.task_id, previousRunId: runId, nextAction: 'claim_and_start_new_run' },
  };
}

/**
 * Checks the shape, the size, content that must not be stored permanently, and secrets, in this order
 * (docs/reference/README.md#durable-text).
 */
function parseHandoff(given: unknown): { kind: string; data: JsonObject } {
  const parsed = HandoffCheckpoint.safeParse(given);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? '';
    return fail('invalid_handoff', { field: `checkpoint.${path}`.slice(0, 200).replace(/\.$/, '') });
  }
  const { kind } = parsed.data;
  const sent = (given as { data: JsonObject }).data;
  checkDocument(sent, { field: 'checkpoint.data' });
  const unsafe = unsafeIn(sent);
  if (unsafe !== undefined) fail('unsafe_handoff_payload', { ...unsafe });
  refuseSecretKeys(sent, 'checkpoint.data');
  refuseSecretText(JSON.stringify(sent), 'checkpoint.data');
  return { kind, data: { ...sent, ...(parsed.data.data as JsonObject) } };
}

async function suspend(
  context: Context,
  run: LiveRunRow,
  how: { reason: string; releaseReason: string; metadata: JsonObject },
): Promise<{ row: RunRow & { horizon: number }; task: Task }> {
  const { db, tenantId } = context;
  const row = await db.row(updateRunToSuspended(tenantId, run.id, how.metadata));
  if (row === undefined) throw new Error('a running run could not be suspended under its lock');
  emit(context, runSuspended, aboutRun(run), {
    taskId: run.task_id,
    reason: eventText(how.reason),
    attempt: run.attempt,
    waitingForApprovalId: (how.metadata['waitingForApprovalId'] as string | undefined) ?? null,
  });
  const release = { reason: how.releaseReason, taskStatusMove: true };
  await releaseClaims(context, { claimIds: [run.claim_id] }, release);
  return { row, task: await getTask(context, { id: run.task_id, number: null }) };
}

function aboutRun(run: LiveRunRow) {
  return { entityId: run.id, workspaceId: run.workspace_id, sessionId: run.session_id };
}
