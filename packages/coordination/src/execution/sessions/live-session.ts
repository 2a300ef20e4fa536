import { NeedsTransaction } from '@baton/kernel/http/command';
import { endUndelegatedSession } from '../../leases/end-session.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findSessionState, type SessionStateRow, shareSession } from './live-session.sql.ts';

/**
 * Takes shared locks on a session and refuses it if the caller can't claim under it, in the documented order
 * (docs/reference/claims.md#claim-a-task). A session whose delegation has ended is closed here, unless another command
 * is using it; the close is committed even though the claim is refused.
 * @throws Refusal `not_found`, `session_owner_mismatch`, `session_not_active`, `session_expired`
 */
export async function requireLiveSession(context: Context, sessionId: string): Promise<void> {
  const { tenantId, caller, db } = context;
  await db.row(shareSession(tenantId, sessionId));
  const session = await db.row(findSessionState(tenantId, sessionId, caller.principalId));
  if (session === undefined || session.id === null) return fail('not_found');
  refuseDead(context, session);
  if (session.delegation_over) {
    await endUndelegatedSession(context, sessionId);
    fail('session_not_active', { sessionId, status: 'closed' }, { commits: true });
  }
}

/**
 * Checks the session without locks, outside a transaction, to find the reason for a refused claim.
 * @throws NeedsTransaction if the reason is the caller's own state, or has to be recorded
 */
export async function explainDeadSession(context: Context, sessionId: string): Promise<void> {
  const { tenantId, caller, db } = context;
  const state = await db.row(findSessionState(tenantId, sessionId, caller.principalId));
  if (!state?.caller_active) throw new NeedsTransaction();
  if (state.id === null) return fail('not_found');
  refuseDead(context, state);
  if (state.delegation_over) throw new NeedsTransaction();
}

function refuseDead({ caller }: Context, session: SessionStateRow): void {
  const { id: sessionId, status } = session;
  if (session.principal_id !== caller.principalId) fail('session_owner_mismatch');
  if (status !== 'active') fail('session_not_active', { sessionId, status });
  if (session.lease_over) fail('session_expired', { sessionId });
}
