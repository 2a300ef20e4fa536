import { violatedConstraint } from '@baton/kernel/database/db';
import { NeedsTransaction } from '@baton/kernel/http/command';
import { Refusal } from '@baton/kernel/http/refusal';
import { newId } from '@baton/values/ids';
import { bindChildRun, lockStartableHandle } from '../../leases/children/child-binding.ts';
import { passClaimGate } from '../../leases/gate.ts';
import { runFailed } from '../../leases/leases.events.ts';
import { noteEvent } from '../../ledger/journal/journal.ts';
import type { Caller } from '../../service/caller.ts';
import { checkDocument } from '../../service/documents.ts';
import { terminalCategories } from '../../work/readiness/claimability.ts';
import { requireAddressee } from '../../work/tasks/addressees/addressees.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { lockTaskRow } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { currencyDefault, isCurrency } from '../usage/usage.ts';
import { type Run, type RunRequest, runOf } from './run.ts';
import { runStarted } from './runs.events.ts';
import { findOwnRevision, findRunningRun, insertRun, type StartedRunRow } from './start-run.sql.ts';

/** A budget in seconds of up to 68 years, or a count, which can be added to a timestamp or counter without overflow. */
const budgetMax = 2_147_483_647;

/** How often the gate and the statement are tried. Between the two, only a delegation can end. */
const attemptsMax = 3;

/**
 * Starts an attempt under the caller's live claim (docs/reference/runs.md#start). A run left running under an older
 * claim is failed as superseded.
 * @throws Refusal `invalid_budget`, `payload_too_large`, `payload_too_deep`, `agent_revision_required`,
 * `agent_revision_mismatch`, `not_found`, `task_not_runnable`, those of the claim gate, `not_eligible`,
 * `run_already_active`, those of `lockStartableHandle`
 */
export async function startRun(context: Context, ref: TaskRef, request: RunRequest): Promise<Run> {
  checkRequest(request);
  requireRevision(context, request);
  return context.transactional
    ? startInTransaction(context, ref, request)
    : startInStatement(context, ref, request);
}

/** The usual case: a single statement. If it starts no run, the start is repeated in a transaction. */
async function startInStatement(context: Context, ref: TaskRef, request: RunRequest): Promise<Run> {
  try {
    const started = await context.db.row(runStart(context, ref, request, null, false));
    if (started !== undefined) return noteStarted(context, started);
  } catch (error) {
    // Another run started or ended while this one waited for the task.
    if (violatedConstraint(error) === undefined) throw error;
  }
  throw new NeedsTransaction();
}

/**
 * Finds the first reason for a refusal under the task's lock, in the documented order. If there is none, starts the run
 * and binds that of a launched task to its handle.
 */
async function startInTransaction(context: Context, ref: TaskRef, request: RunRequest): Promise<Run> {
  try {
    return await startUnderLocks(context, ref, request);
  } catch (error) {
    // A wrong revision takes precedence over other refusals, so it is checked separately only if one of them occurs.
    if (error instanceof Refusal) await requireOwnRevision(context, request);
    throw error;
  }
}

async function startUnderLocks(context: Context, ref: TaskRef, request: RunRequest): Promise<Run> {
  const task = await lockTaskRow(context, ref, request.claimId);
  const { id: taskId, status, category, child_handle_id: childHandleId } = task;
  if (terminalCategories.includes(category))
    fail('task_not_runnable', { taskId, status, systemStatusCategory: category });
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await passClaimGate(context, taskId, request, { claimRequired: true });
    await requireAddressee(context, task);
    const handle =
      childHandleId === null
        ? undefined
        : await lockStartableHandle(context, childHandleId, taskId, request.claimId);
    const started = await context.db.row(runStart(context, ref, request, childHandleId, true));
    if (started !== undefined) {
      if (handle !== undefined) await bindChildRun(context, handle, started);
      return noteStarted(context, started);
    }
    const running = await context.db.row(findRunningRun(context.tenantId, request.claimId));
    if (running !== undefined) fail('run_already_active', { taskId, runId: running.id });
    await requireOwnRevision(context, request);
  }
  throw new Error('a run was refused without an obstacle');
}

function checkRequest(request: RunRequest): void {
  for (const field of ['maxDurationSeconds', 'maxActions'] as const)
    if ((request[field] ?? 1) > budgetMax) fail('invalid_budget', { field, max: budgetMax });
  const { currency } = request;
  if (currency != null && !isCurrency(currency)) fail('invalid_budget', { field: 'currency', currency });
  if (request.input != null) checkDocument(request.input, { field: 'input' });
  checkDocument(request.metadata, { field: 'metadata' });
}

/**
 * A registered agent must specify its current revision, and other principals must not. The statement that starts the
 * run checks that the revision is the agent's own.
 */
function requireRevision({ caller }: Context, { agentRevisionId }: RunRequest): void {
  if (caller.agentId == null && agentRevisionId != null) fail('agent_revision_mismatch', { agentRevisionId });
  if (caller.agentId != null && agentRevisionId == null) fail('agent_revision_required');
}

async function requireOwnRevision(
  { db, tenantId, caller }: Context,
  { agentRevisionId }: RunRequest,
): Promise<void> {
  if (caller.agentId == null || agentRevisionId == null) return;
  if ((await db.row(findOwnRevision(tenantId, caller.agentId, agentRevisionId))) === undefined)
    fail('agent_revision_mismatch', { agentRevisionId });
}

/**
 * @param isEligible whether the caller was checked against the task's addressee, under the task's lock
 */
function runStart(
  context: Context,
  ref: TaskRef,
  request: RunRequest,
  childHandleId: string | null,
  isEligible: boolean,
) {
  const { caller, tenantId, correlationId, requestId, traceRunId } = context;
  return insertRun({
    tenantId,
    principalId: caller.principalId,
    iamPrincipalId: caller.iamPrincipalId,
    ref,
    claimId: request.claimId,
    fencingToken: request.fencingToken,
    isEligible,
    runId: newId(),
    startedEventId: newId(),
    failedEventId: newId(),
    input: request.input ?? null,
    metadata: request.metadata,
    maxDurationSeconds: request.maxDurationSeconds ?? null,
    maxActions: request.maxActions ?? null,
    identity: identityOf(caller),
    maxTokens: request.maxTokens ?? null,
    maxCostMicros: request.maxCostMicros ?? null,
    currency: request.maxCostMicros == null ? null : (request.currency ?? currencyDefault),
    agentRevisionId: request.agentRevisionId ?? null,
    agentId: caller.agentId ?? null,
    childHandleId,
    correlationId,
    requestId,
    traceRunId,
    writesOutbox: context.settings.CP_OUTBOX_ENABLED,
  });
}

/** The caller as recorded in a manifest. The statement adds the session. */
function identityOf({ tenantId, principalId, kind, iamPrincipalId, permissions }: Caller) {
  return { tenantId, principalId, kind, iamPrincipalId, permissions: [...permissions].sort() };
}

function noteStarted(context: Context, started: StartedRunRow): Run {
  context.wroteEvents = true;
  if (started.failed_payload !== null) noteEvent(context, runFailed, started.failed_payload);
  noteEvent(context, runStarted, started.started_payload);
  return runOf(started);
}
