import { NeedsTransaction } from '@baton/kernel/http/command';
import { leaseBounds } from '../../leases/lease-bounds.ts';
import { endUndelegatedSession } from '../../leases/session-ending.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Claim, claimOf } from './claim.ts';
import { findLeaseState, type LeaseStateRow, lockTaskOfClaim, updateClaimLease } from './heartbeat.sql.ts';

/** The task's lock doesn't cover a session that closes meanwhile, so the state may change once after it was read. */
const attemptsMax = 3;

/**
 * Extends or shortens the lease of a claim (docs/reference/claims.md#heartbeat); by default by its original length. The
 * usual case is a single statement without an event. Only if it changes nothing is it repeated under the task's lock,
 * to find the reason.
 * @throws Refusal `not_found`, `claim_holder_mismatch`, `claim_not_active`, `claim_expired`, `session_not_active`,
 * `invalid_ttl`
 */
export async function heartbeatClaim(
  context: Context,
  claimId: string,
  ttlAsked: number | null | undefined,
): Promise<Claim> {
  const { db, tenantId, caller, settings } = context;
  const { min, max } = leaseBounds(settings, 'CP_CLAIM');
  const ttlSeconds = ttlAsked ?? null;
  const fits = ttlSeconds === null || (ttlSeconds >= min && ttlSeconds <= max);
  const mayManage = holds(caller.permissions, 'claims.manage');
  const beat = () =>
    db.row(updateClaimLease({ tenantId, claimId, callerId: caller.principalId, mayManage, ttlSeconds }));

  if (!context.transactional) {
    const row = fits ? await beat() : undefined;
    if (row === undefined) throw new NeedsTransaction();
    return claimOf(row);
  }
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await db.row(lockTaskOfClaim(tenantId, claimId));
    await refuseDeadLease(context, claimId, mayManage);
    if (!fits) fail('invalid_ttl', { min, max });
    const row = await beat();
    if (row !== undefined) return claimOf(row);
  }
  throw new Error('a heartbeat was refused without an obstacle');
}

async function refuseDeadLease(context: Context, claimId: string, mayManage: boolean): Promise<void> {
  const state: LeaseStateRow | undefined = await context.db.row(findLeaseState(context.tenantId, claimId));
  if (state === undefined) return fail('not_found');
  const { session_id: sessionId } = state;
  if (state.holder_id !== context.caller.principalId && !mayManage)
    fail('claim_holder_mismatch', { claimId });
  if (state.status !== 'active') fail('claim_not_active', { claimId, status: state.status });
  if (state.lease_over) fail('claim_expired', { claimId, expiresAt: state.expires_at });
  // A session whose lease has expired is stale, even before the worker records it.
  const sessionStatus = state.session_status === 'active' ? 'stale' : state.session_status;
  if (state.session_over) fail('session_not_active', { sessionId, status: sessionStatus });
  if (!state.delegation_over) return;
  await endUndelegatedSession(context, sessionId);
  fail('session_not_active', { sessionId, status: 'closed' }, { commits: true });
}
