import { newId } from '@baton/values/ids';
import { recordChildResults } from '../../leases/children/child-results.ts';
import { noteChildRevoked } from '../../leases/children/child-revocation.ts';
import type { EndedRunRow } from '../../leases/lease-rows.ts';
import { endClaims, noteReleased } from '../../leases/release.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { undoneOnFailure } from '../../ledger/savepoint.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { runCancelled } from '../runs/runs.events.ts';
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
import { cascadeKey, payloadOf, requireRunVersion } from './sending.ts';

/** How many tasks below the first one are ended in one transaction; the worker goes on with the others. */
export const cascadeBatchMax = 100;

const safeBoundary = 'server:force_cancel';
const ofDescendant = 'parent_force_cancel';

export interface ForceCancelled {
  readonly message: ControlMessageRow;
  readonly runVersion: number;
  /** Whether something below is left for the worker. */
  readonly isUnfinished: boolean;
}

/**
 * Cancels a run at once, releases its claim, and does the same below it: to every running run of a task that was launched
 * by its task, at any distance and whatever its policy (core, section 11); with `followsRelations` also of a task that was
 * only related by `spawned_by`. The first of them end in this transaction; what another command has locked, and
 * all of them where one can't be written, are left to the worker.
 * Launches that nobody has taken up are revoked, unless they were made to outlive their parent.
 *
 * It waits for no lock of a task below: a completion holds its task and waits for those that depend on it.
 * @param storedMessage finds the message of the same key
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
  await reachAtOnce(context, message, async () =>
    cancelFreeTasks(context, message, await tasksBelow(context, root, cascadeBatchMax)),
  );
  const left = await tasksBelow(context, root, 1);
  return { ...cancelled, isUnfinished: left.length > 0 };
}

/**
 * Does at once what a cancellation reaches. Where one entry can't be written, nothing of it is: the worker goes on, and
 * tries each alone.
 * @returns undefined when it failed
 */
export function reachAtOnce<T>(
  context: Context,
  { id: controlMessageId }: ControlMessageRow,
  act: () => Promise<T>,
): Promise<T | undefined> {
  return undoneOnFailure<T | undefined>(context, act, (error) => {
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
 * @param except the tasks that could not be handled and wait for their next try
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
 * Ends what these tasks have. It waits for the first of them, while it holds no other task, so that nobody keeps a task
 * out of reach by locking it again and again.
 * @returns how many tasks were handled: not those that others have locked
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

/** Cancels the running runs of locked tasks and revokes their launches, in consequence of a message to a run above. */
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
  /** Why the run and its claim ended, for the journal. */
  readonly endReason: string;
  readonly requestedBy: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string | null;
  /** The key of the message in each run. */
  readonly key: string;
}

/** Ends running runs whose tasks and rows are locked, in the contract's order of events for each. */
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
  // A run whose claim is gone leaves the task's new claim alone.
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
