import { NeedsTransaction } from '@baton/kernel/http/command';
import { endUndelegatedSession } from '../../leases/end-session.ts';
import { leaseBounds } from '../../leases/lease-bounds.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Claim, claimOf } from './claim.ts';
import { findLeaseState, type LeaseStateRow, lockTaskOfClaim, updateClaimLease } from './heartbeat.sql.ts';
import { refuseTtl } from './ttl.ts';

/**
 * How often a heartbeat is tried under the task's lock, which doesn't prevent the session from being closed: the state
 * may change once after it was read.
 */
const attemptsMax = 3;

/**
 * Extends or shortens the lease of a claim (docs/reference/claims.md#heartbeat); by default by its original length. It
 * emits no event.
 * @throws Refusal `not_found`, `claim_holder_mismatch`, `claim_not_active`, `claim_expired`, `session_not_active`,
 * `invalid_ttl`
 */
export function heartbeatClaim(
  context: Context,
  claimId: string,
  ttlAsked: number | null | undefined,
): Promise<Claim> {
  const ttlSeconds = ttlAsked ?? null;
  return context.transactional
    ? renewInTransaction(context, claimId, ttlSeconds)
    : renewInStatement(context, claimId, ttlSeconds);
}

/** The usual case: a single statement. If it changes nothing, the reason is found in a transaction. */
async function renewInStatement(
  context: Context,
  claimId: string,
  ttlSeconds: number | null,
): Promise<Claim> {
  const row = fitsClaim(context, ttlSeconds) ? await renewLease(context, claimId, ttlSeconds) : undefined;
  if (row === undefined) throw new NeedsTransaction();
  return claimOf(row);
}

/** Finds the first reason for a refusal under the task's lock, and renews the lease if there is none. */
async function renewInTransaction(
  context: Context,
  claimId: string,
  ttlSeconds: number | null,
): Promise<Claim> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await context.db.row(lockTaskOfClaim(context.tenantId, claimId));
    await refuseDeadLease(context, claimId);
    if (!fitsClaim(context, ttlSeconds)) refuseTtl(context);
    const row = await renewLease(context, claimId, ttlSeconds);
    if (row !== undefined) return claimOf(row);
  }
  throw new Error('a heartbeat was refused without an obstacle');
}

function renewLease(context: Context, claimId: string, ttlSeconds: number | null) {
  const { db, tenantId, caller } = context;
  const callerId = caller.principalId;
  return db.row(updateClaimLease({ tenantId, claimId, callerId, mayManage: mayManage(context), ttlSeconds }));
}

function fitsClaim({ settings }: Context, ttlSeconds: number | null): boolean {
  const { min, max } = leaseBounds(settings, 'CP_CLAIM');
  return ttlSeconds === null || (ttlSeconds >= min && ttlSeconds <= max);
}

function mayManage({ caller }: Context): boolean {
  return holds(caller.permissions, 'claims.manage');
}

async function refuseDeadLease(context: Context, claimId: string): Promise<void> {
  const state: LeaseStateRow | undefined = await context.db.row(findLeaseState(context.tenantId, claimId));
  if (state === undefined) return fail('not_found');
  const { session_id: sessionId } = state;
  if (state.holder_id !== context.caller.principalId && !mayManage(context))
    fail('claim_holder_mismatch', { claimId });
  if (state.status !== 'active') fail('claim_not_active', { claimId, status: state.status });
  if (state.lease_over) fail('claim_expired', { claimId, expiresAt: state.expires_at });
  // A session whose lease has expired is stale, even before the worker records that.
  const sessionStatus = state.session_status === 'active' ? 'stale' : state.session_status;
  if (state.session_over) fail('session_not_active', { sessionId, status: sessionStatus });
  if (!state.delegation_over) return;
  await endUndelegatedSession(context, sessionId);
  fail('session_not_active', { sessionId, status: 'closed' }, { commits: true });
}
