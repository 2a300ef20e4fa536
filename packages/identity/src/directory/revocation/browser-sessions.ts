import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Acting } from '../endings/ending.ts';
import { browserSessionRevoked } from './browser-sessions.events.ts';
import { type SessionsToEnd, updateEndedSessions } from './browser-sessions.sql.ts';

/**
 * Ends browser sessions of a principal: all of them, unless `order` selects fewer. Their access tokens are
 * revoked, too.
 * @param actor in the audit record; by default the caller
 * @returns how many this call ended
 */
export async function endBrowserSessions(
  context: Acting,
  { actor, ...order }: SessionsToEnd & { actor?: string },
): Promise<number> {
  const ended = await context.db.rows(updateEndedSessions(order));
  const { reason } = order;
  for (const { id, tenant_id: tenantId, principal_id: principalId, public_prefix: publicPrefix } of ended) {
    emit(
      context,
      browserSessionRevoked,
      { tenantId, aggregateId: id },
      { browserSessionId: id, principalId, publicPrefix, reason },
    );
    audit(context, {
      tenantId,
      action: 'browser_sessions.revoke',
      resource: ['browser_session', id],
      reason: `session:${publicPrefix} reason:${reason}`,
      ...(actor === undefined ? {} : { actor }),
    });
  }
  return ended.length;
}
