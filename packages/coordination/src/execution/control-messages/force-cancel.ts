import { newId } from '@baton/values/ids';
import { recordChildResults } from '../../leases/children/child-results.ts';
import { noteChildRevoked } from '../../leases/children/child-revocation.ts';
import type { EndedRunRow } from '../../leases/lease-rows.ts';
import { endClaims, noteReleased } from '../../leases/release.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { runCancelled } from '../runs/runs.events.ts';
import { cascadeKey, payloadOf, requireRunVersion } from './add-messages.ts';
import type { CascadeRoot, ControlMessageRow, NewControlMessage } from './control-message.ts';
import { controlMessageApplied, controlMessageSuperseded } from './control-messages.events.ts';
import { findRunHead, lockRun } from './control-messages.sql.ts';
import {
  findTasksToCancel,
  insertForceCancels,
  lockCascades,
  lockFreeTasks,
  lockRunsOfTasks,
  lockTask,
  updateOpenToSuperseded,
  updatePendingToRevoked,
  updateRunsToCancelled,
} from './force-cancel.sql.ts';

/** How many tasks below the first one are ended in one transaction. The worker ends the others. */
export const cascadeBatchMax = 100;

const safeBoundary = 'server:force_cancel';
const ofDescendant = 'parent_force_cancel';

export interface ForceCancelled {
  readonly message: ControlMessageRow;
  readonly runVersion: number;
  /** Whether a part of the tree is left to the worker. */
  readonly isUnfinished: boolean;
}

/**
 * Cancels a run immediately, releases its claim, and does the same below it: to every running run of a task that its
 * task launched, at any depth and with any policy (docs/reference/actions-and-usage.md#force-cancel); with
 * `followsRelations`, also of a task that is only related by `spawned_by`. The first batch ends in this transaction.
 * Runs locked by other commands are left to the worker, and so is the whole batch if one run can't be written. Pending
 * launches are revoked, unless their policy lets them outlive their parent. It never waits for the lock of a lower
 * task, because a completion holds its task and waits for its dependents.
 * @param storedMessage finds the message with the same key
 * @throws Refusal `not_found`, `run_not_active`, `run_version_conflict`, those of `storedMessage`
 */
export async function forceCancel(
  context: Context,
  runId: string,
  request: NewControlMessage,
  followsRelations: boolean,
  storedMessage: () => Promise<ControlMessageRow | undefined>,
): Promise<ForceCancelled> {
  const { db, tenantId, caller, requestId, correlationId, idempotencyKey } = context;
  const { task_id: taskId, status } = (await db.row(findRunHead(tenantId, runId))) ?? fail('not_found');
  if (status !== 'running') fail('run_not_active', { runId, status });
  await db.run(lockCascades(tenantId));
  await db.row(lockTask(tenantId, taskId));
  const run = (await db.row(lockRun(tenantId, runId))) ?? fail('not_found');
  if (run.status !== 'running') fail('run_not_active', { runId, status: run.status });
  const stored = await storedMessage();
  if (stored !== undefined) return { message: stored, runVersion: run.version, isUnfinished: false };
  requireRunVersion(run, request.expectedRunVersion);
  const { causalPosition, reason } = request;
  const [cancelled] = await cancelRuns(context, [run], {
    causalPosition,
    messageReason: reason,
    failureReason: reason,
    endReason: 'force_cancel',
    requestedBy: caller.principalId,
    requestId,
    correlationId,
    causationId: null,
    key: idempotencyKey as string,
  });
  if (cancelled === undefined) throw new Error('a locked, running run could not be cancelled');
  const { message } = cancelled;
  const root = { ...message, follows_relations: followsRelations };
  await attemptFirstBatch(context, message, async () =>
    cancelFreeTasks(context, message, await tasksBelow(context, root, cascadeBatchMax)),
  );
  const left = await tasksBelow(context, root, 1);
  return { ...cancelled, isUnfinished: left.length > 0 };
}

/**
 * Processes the first batch of a cancellation immediately. If one entry can't be written, the whole batch is rolled
 * back and left to the worker, which retries entries one by one.
 * @returns undefined if it failed
 */
export function attemptFirstBatch<T>(
  context: Context,
  { id: controlMessageId }: ControlMessageRow,
  act: () => Promise<T>,
): Promise<T | undefined> {
  return undoOnFailure<T | undefined>(context, act, (error) => {
    context.log.error({ err: error, controlMessageId }, 'a cancellation is left to the worker');
    return undefined;
  });
}

async function tasksBelow(
  { db, tenantId }: Context,
  { task_id: taskId, follows_relations: followsRelations }: CascadeRoot,
  rowsMax: number,
  except: readonly string[] = [],
): Promise<string[]> {
  const found = await db.rows(findTasksToCancel(tenantId, taskId, { followsRelations, rowsMax, except }));
  return found.map(({ id }) => id);
}

/**
 * The next tasks below the run of a forced cancellation that have something to end.
 * @param except the tasks that failed and are due for a retry
 */
export async function findNextBelow(
  context: Context,
  root: CascadeRoot,
  except: readonly string[],
): Promise<string[]> {
  await context.db.run(lockCascades(context.tenantId));
  return tasksBelow(context, root, cascadeBatchMax, except);
}

/**
 * Ends the runs and launches of these tasks. It waits for the lock of the first task while it holds no other, so that
 * repeated locks can't protect a task from cancellation.
 * @returns the number of handled tasks, excluding those that others have locked
 */
export async function cancelNextTasks(
  context: Context,
  root: ControlMessageRow,
  taskIds: readonly string[],
): Promise<number> {
  for (const first of taskIds.slice(0, 1)) await context.db.row(lockTask(context.tenantId, first));
  return cancelFreeTasks(context, root, taskIds);
}

async function cancelFreeTasks(
  context: Context,
  root: ControlMessageRow,
  taskIds: readonly string[],
): Promise<number> {
  const free = await context.db.rows(lockFreeTasks(context.tenantId, taskIds));
  const freeIds = free.map(({ id }) => id);
  await cancelTasks(context, root, freeIds);
  return freeIds.length;
}

/** Cancels the running runs of locked tasks and revokes their launches, because of a message to a run above. */
async function cancelTasks(
  context: Context,
  root: ControlMessageRow,
  taskIds: readonly string[],
): Promise<void> {
  if (taskIds.length === 0) return;
  const { db, tenantId } = context;
  const runs = await db.rows(lockRunsOfTasks(tenantId, taskIds));
  await cancelRuns(context, runs, {
    causalPosition: root.causal_position,
    messageReason: root.reason,
    failureReason: ofDescendant,
    endReason: ofDescendant,
    requestedBy: root.requested_by_principal_id,
    requestId: root.request_id,
    correlationId: root.correlation_id,
    causationId: root.id,
    key: cascadeKey(root),
  });
  for (const handle of await db.rows(updatePendingToRevoked(tenantId, taskIds, ofDescendant)))
    noteChildRevoked(context, handle, ofDescendant, root.id);
}

interface Cancellation {
  readonly causalPosition: string;
  readonly messageReason: string;
  readonly failureReason: string;
  /** The reason that the journal gives for the end of the run and of its claim. */
  readonly endReason: string;
  readonly requestedBy: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string | null;
  /** The message's key in each run. */
  readonly key: string;
}

/** Ends running runs whose tasks and rows are locked, and emits the events of each in the documented order. */
async function cancelRuns(
  context: Context,
  runs: readonly EndedRunRow[],
  { key, ...cancellation }: Cancellation,
): Promise<{ message: ControlMessageRow; runVersion: number }[]> {
  if (runs.length === 0) return [];
  const { db, tenantId } = context;
  const { failureReason, endReason, causationId, messageReason: reason } = cancellation;
  const runIds = runs.map(({ id }) => id);
  const release = { reason: endReason, taskStatusMove: true, causationId };
  // The claim of a run may have ended already. The task's new claim is not affected.
  const claimIds = runs.map((run) => run.claim_id);
  const claims = new Map((await endClaims(context, claimIds, release)).map((claim) => [claim.id, claim]));
  const open = Map.groupBy(
    await db.rows(updateOpenToSuperseded(tenantId, runIds, safeBoundary)),
    (message) => message.run_id,
  );
  const targets = runIds.map((run_id) => ({ message_id: newId(), run_id, key }));
  const inserted = await db.rows(
    insertForceCancels({ tenantId, ...cancellation, reason, safeBoundary, targets }),
  );
  const applied = new Map(inserted.map((message) => [message.run_id, message]));
  const ended = await db.rows(updateRunsToCancelled(tenantId, runIds, failureReason));
  const cancelled = ended.map((run) => {
    const message = applied.get(run.id) as ControlMessageRow;
    const about = {
      entityId: run.id,
      workspaceId: run.workspace_id,
      sessionId: run.session_id,
      causationId,
    };
    for (const superseded of open.get(run.id) ?? [])
      emit(context, controlMessageSuperseded, about, { ...payloadOf(superseded), safeBoundary });
    emit(context, controlMessageApplied, about, { ...payloadOf(message), safeBoundary });
    emit(context, runCancelled, about, {
      taskId: run.task_id,
      reason: endReason,
      attempt: run.attempt,
      controlMessageId: message.id,
    });
    const claim = claims.get(run.claim_id);
    if (claim !== undefined) noteReleased(context, claim, release);
    return { message, runVersion: run.version };
  });
  await recordChildResults(context, ended, undefined, causationId ?? undefined);
  context.afterCommit.push(() => context.counters.runCancellations.inc(ended.length));
  return cancelled;
}
