import type { Context } from '../context.ts';
import { fail } from '../service.ts';
import { closeSession } from './closing.ts';
import { shareSession } from './live-session.sql.ts';

/**
 * Refuses a session under which the caller can't claim, in the order of core section 9. One whose delegation is over is
 * closed by this touch, and that is kept although the claim is refused.
 * @throws Refusal `not_found`, `session_owner_mismatch`, `session_not_active`, `session_expired`
 */
export async function requireLiveSession(context: Context, sessionId: string): Promise<void> {
  const session = await context.db.row(shareSession(context.tenantId, sessionId));
  if (session === undefined) return fail('not_found');
  if (session.principal_id !== context.caller.principalId) fail('session_owner_mismatch');
  if (session.status !== 'active') fail('session_not_active', { sessionId, status: session.status });
  if (session.lease_over) fail('session_expired', { sessionId });
  if (session.delegation_over) {
    // Two claims that share the session and both get here deadlock; the loser is repeated and finds it closed.
    await closeSession(context, sessionId, 'delegation_ended');
    fail('session_not_active', { sessionId, status: 'closed' }, { commits: true });
  }
}
