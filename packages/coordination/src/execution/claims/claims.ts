import { violatedConstraint } from '@baton/kernel/database/db';
import type { ItemPage } from '@baton/kernel/database/list';
import { NeedsTransaction } from '@baton/kernel/http/command';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { requireDelegated } from '../../leases/delegated/delegated-rights.ts';
import { claimExpired } from '../../leases/leases.events.ts';
import { releaseClaims } from '../../leases/release.ts';
import { noteEvent } from '../../ledger/journal/journal.ts';
import { holds } from '../../service/permissions.ts';
import { listHanging } from '../../service/sight/seen-list.ts';
import { requireSightOfTask } from '../../service/sight/sight.ts';
import { refuseUnclaimableTask, requireClaimableTask } from '../../work/readiness/claimability.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { explainDeadSession, requireLiveSession } from '../sessions/live-session.ts';
import { type Claim, type ClaimRequest, claimOf, claimStatuses } from './claim.ts';
import { taskClaimed } from './claims.events.ts';
import { findClaim, type InsertedClaimRow, insertClaim, listOfClaims } from './claims.sql.ts';
import { findLeaseState, lockTaskOfClaim } from './heartbeat.sql.ts';
import { claimTtl, refuseTtl } from './ttl.ts';

/**
 * How often a claim is tried under the task's lock, when only a concurrently added relation can change whether the task
 * is claimable.
 */
const attemptsMax = 3;

/** Claims a task for the caller's session (docs/reference/claims.md#claim-a-task). */
export async function claimTask(context: Context, ref: TaskRef, request: ClaimRequest): Promise<Claim> {
  await requireDelegated(context, request, 'tasks.claim');
  const ttlSeconds = claimTtl(context, request.ttlSeconds);
  return context.transactional
    ? claimInTransaction(context, ref, request, ttlSeconds)
    : claimInStatement(context, ref, request, ttlSeconds);
}

/**
 * The usual case: a single statement. If it returns no claim, two reads determine the reason, which is the first that
 * applies in the documented order of refusals. If they find none, because the obstacle has since disappeared, the claim
 * is retried in a transaction.
 */
async function claimInStatement(
  context: Context,
  ref: TaskRef,
  request: ClaimRequest,
  ttlSeconds: number | undefined,
): Promise<Claim> {
  const claim = ttlSeconds === undefined ? undefined : await tryLease(context, ref, request, ttlSeconds);
  if (claim !== undefined) return claim;
  await explainDeadSession(context, request.sessionId);
  await refuseUnclaimableTask(context, ref);
  if (ttlSeconds === undefined) refuseTtl(context);
  throw new NeedsTransaction();
}

/** Like `claimTask`, but if the statement returns no claim, the reason is found under the locks of session and task. */
async function claimInTransaction(
  context: Context,
  ref: TaskRef,
  request: ClaimRequest,
  ttlSeconds: number | undefined,
): Promise<Claim> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const isEligible = attempt > 1;
    const claim =
      ttlSeconds === undefined ? undefined : await takeLease(context, ref, request, ttlSeconds, isEligible);
    if (claim !== undefined) return claim;
    await requireLiveSession(context, request.sessionId);
    // Locks the task and checks that the caller is eligible, or refuses the claim.
    await requireClaimableTask(context, ref);
    if (ttlSeconds === undefined) refuseTtl(context);
  }
  throw new Error('a claim was refused without an obstacle');
}

/**
 * Claims the task of a claim that has ended or whose lease has expired.
 * @throws Refusal `not_found`, those of a session, `claim_not_expired` while the claim is live, those of `claimTask`
 */
export async function reclaimTask(context: Context, claimId: string, request: ClaimRequest): Promise<Claim> {
  const claim = await getClaim(context, claimId);
  await requireLiveSession(context, request.sessionId);
  await context.db.row(lockTaskOfClaim(context.tenantId, claimId));
  const state = await context.db.row(findLeaseState(context.tenantId, claimId));
  if (state !== undefined && state.status === 'active' && !state.lease_over && !state.session_over)
    fail('claim_not_expired', { claimId, expiresAt: state.expires_at });
  return claimTask(context, { id: claim.taskId, number: null }, request);
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listClaims(
  context: Context,
  { taskId, sessionId, status }: Partial<Pick<Claim, 'taskId' | 'sessionId'>> & { status?: string },
  page: Page,
): Promise<ItemPage<Claim>> {
  if (status !== undefined && !claimStatuses.some((known) => known === status))
    fail('invalid_status', { known: claimStatuses });
  const { tenantId } = context;
  const filter = { task_id: taskId, session_id: sessionId, status };
  return listHanging(context, taskId, listOfClaims(tenantId, filter), page, claimOf);
}

/** @throws Refusal `not_found` */
export async function getClaim(context: Context, claimId: string): Promise<Claim> {
  const row = (await context.db.row(findClaim(context.tenantId, claimId))) ?? fail('not_found');
  await requireSightOfTask(context, row.task_id);
  return claimOf(row);
}

/**
 * Releases a claim, for its holder or a manager. A claim that has already ended doesn't change.
 * @throws Refusal `not_found`, `claim_holder_mismatch`
 */
export async function releaseClaim(context: Context, claimId: string, reason: string): Promise<Claim> {
  const claim = await getClaim(context, claimId);
  const isHolder = claim.holderId === context.caller.principalId;
  if (!isHolder && !holds(context.caller.permissions, 'claims.manage'))
    fail('claim_holder_mismatch', { claimId });
  if (claim.status !== 'active') return claim;
  const [released] = await releaseClaims(context, { claimIds: [claimId] }, { reason, taskStatusMove: true });
  // Undefined if the claim ended between the read and the lock.
  return released === undefined ? getClaim(context, claimId) : claimOf(released);
}

/**
 * @returns undefined if no claim was made, even if a rival wins between the statement's read and its insert
 */
async function tryLease(
  context: Context,
  ref: TaskRef,
  request: ClaimRequest,
  ttlSeconds: number,
): Promise<Claim | undefined> {
  try {
    return await takeLease(context, ref, request, ttlSeconds, false);
  } catch (error) {
    if (violatedConstraint(error) === 'claims_one_active') return undefined;
    throw error;
  }
}

/** @param isEligible whether the task's addressee was checked under its lock */
async function takeLease(
  context: Context,
  ref: TaskRef,
  request: ClaimRequest,
  ttlSeconds: number,
  isEligible: boolean,
): Promise<Claim | undefined> {
  const { caller, tenantId, correlationId, requestId, traceRunId } = context;
  const lease = await context.db.row(
    insertClaim({
      tenantId,
      principalId: caller.principalId,
      iamPrincipalId: caller.iamPrincipalId,
      ref,
      isEligible,
      sessionId: request.sessionId,
      claimId: newId(),
      claimedEventId: newId(),
      expiredEventId: newId(),
      ttlSeconds,
      intent: request.intent,
      correlationId,
      requestId,
      traceRunId,
      writesOutbox: context.settings.CP_OUTBOX_ENABLED,
    }),
  );
  return lease === undefined ? undefined : noteClaimed(context, lease);
}

function noteClaimed(context: Context, lease: InsertedClaimRow): Claim {
  context.wroteEvents = true;
  noteEvent(context, taskClaimed, lease.claimed_payload);
  if (lease.reaped_claim_id !== null) {
    noteEvent(context, claimExpired, lease.expired_payload);
    context.afterCommit.push(() => context.counters.claimTakeovers.inc());
  }
  return claimOf(lease);
}
