import { NeedsTransaction } from '@baton/kernel/command';
import { violatedConstraint } from '@baton/kernel/db';
import { newId } from '@baton/kernel/ids';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import { noteEvent } from '../journal/journal.ts';
import { fail } from '../service.ts';
import { requireLiveSession } from '../sessions/live-session.ts';
import { requireClaimableTask } from '../tasks/claimability.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import type { Claim, ClaimRequest } from './claims.api.ts';
import { claimExpired, taskClaimed } from './claims.events.ts';
import { type ClaimRow, type LeaseRow, takeLease } from './claims.sql.ts';

/** What a task showed under its lock may change once more only by a relation added in between. */
const attemptsMax = 3;

/**
 * Takes the lease on a task for the caller's session (core, section 9).
 * The usual case is one statement on its own. Only when that grants nothing is it repeated inside a transaction, which
 * locks the session and the task and refuses with the first reason in the contract's order.
 */
export async function claimTask(
  context: Context,
  ref: TaskRef,
  request: z.output<typeof ClaimRequest>,
): Promise<Claim> {
  const ttlSeconds = claimTtl(context, request.ttlSeconds);
  if (!context.transactional) {
    const lease = ttlSeconds === undefined ? undefined : await tryLease(context, ref, request, ttlSeconds);
    if (lease === undefined) throw new NeedsTransaction();
    return lease;
  }
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await requireLiveSession(context, request.sessionId);
    await requireClaimableTask(context, ref);
    if (ttlSeconds === undefined) {
      const { CP_CLAIM_TTL_MIN_SECONDS: min, CP_CLAIM_TTL_MAX_SECONDS: max } = context.settings;
      fail('invalid_ttl', { min, max });
    }
    const lease = await context.db.row(takeLease(leaseRequest(context, ref, request, ttlSeconds)));
    if (lease !== undefined) return granted(context, lease);
  }
  throw new Error('a claim was refused although nothing stood in its way');
}

async function tryLease(
  context: Context,
  ref: TaskRef,
  request: z.output<typeof ClaimRequest>,
  ttlSeconds: number,
): Promise<Claim | undefined> {
  try {
    const lease = await context.db.row(takeLease(leaseRequest(context, ref, request, ttlSeconds)));
    return lease === undefined ? undefined : granted(context, lease);
  } catch (error) {
    if (violatedConstraint(error) === 'claims_one_active') return undefined;
    throw error;
  }
}

/** The asked lease in seconds, or undefined when it is out of bounds: that is refused last. */
function claimTtl({ settings }: Context, asked: number | undefined): number | undefined {
  const ttlSeconds = asked ?? settings.CP_CLAIM_TTL_SECONDS;
  const fits =
    ttlSeconds >= settings.CP_CLAIM_TTL_MIN_SECONDS && ttlSeconds <= settings.CP_CLAIM_TTL_MAX_SECONDS;
  return fits ? ttlSeconds : undefined;
}

function leaseRequest(
  context: Context,
  ref: TaskRef,
  request: z.output<typeof ClaimRequest>,
  ttlSeconds: number,
) {
  const { caller, tenantId, correlationId, requestId, traceRunId } = context;
  return {
    tenantId,
    principalId: caller.principalId,
    iamPrincipalId: caller.iamPrincipalId,
    ref,
    sessionId: request.sessionId,
    claimId: newId(),
    claimedEventId: newId(),
    expiredEventId: newId(),
    ttlSeconds,
    intent: request.intent,
    correlationId,
    requestId,
    traceRunId,
  };
}

function granted(context: Context, lease: LeaseRow): Claim {
  context.wroteEvents = true;
  noteEvent(context, taskClaimed, lease.claimed_payload);
  if (lease.reaped_claim_id !== null) {
    noteEvent(context, claimExpired, lease.expired_payload);
    context.afterCommit.push(() => context.counters.claimTakeovers.inc());
  }
  return claimOf(lease);
}

export function claimOf(row: ClaimRow): Claim {
  return {
    id: row.id,
    claimId: row.id,
    tenantId: row.tenant_id,
    taskId: row.task_id,
    sessionId: row.session_id,
    holderId: row.holder_id,
    status: row.status,
    fencingToken: row.fencing_token,
    intent: row.intent,
    acquiredAt: row.acquired_at,
    heartbeatAt: row.heartbeat_at,
    expiresAt: row.expires_at,
    releasedAt: row.released_at,
    releaseReason: row.release_reason,
  };
}
