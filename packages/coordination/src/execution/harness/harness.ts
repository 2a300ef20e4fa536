import { timestampText } from '@baton/kernel/database/db';
import { cursorAtHorizon } from '../../ledger/journal/cursor.ts';
import { holds } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { harnessProtocol } from '../sessions/protocol.ts';
import { findHarnessContext } from './harness.sql.ts';
import {
  type HarnessContext,
  type HarnessContextRow,
  heldClaimOf,
  ownRunOf,
  sessionSummaryOf,
} from './harness-context.ts';

/** More entries than any agent has. A longer list is truncated to the newest entries. */
const listMax = 1000;
const suspendedMax = 20;
const approvalsMax = 50;

/**
 * Reads the caller's own context (docs/reference/sessions.md#harness-context). It is read-only: it doesn't even record
 * leases that it finds expired. Reading the journal from the returned cursor misses no change since the state was
 * read, though the state may already include the first events.
 * @throws Refusal `not_found` for a session that isn't the caller's
 */
export async function getHarnessContext(context: Context, sessionId?: string): Promise<HarnessContext> {
  const { tenantId, caller } = context;
  const found = (await context.db.row(
    findHarnessContext({
      tenantId,
      principalId: caller.principalId,
      sessionId: sessionId ?? null,
      listMax,
      suspendedMax,
      approvalsMax,
      decides: caller.kind === 'human' && holds(caller.permissions, 'approvals.decide'),
      viewerId: await viewerOf(context),
    }),
  )) as HarnessContextRow;
  if (sessionId !== undefined && found.session === null) fail('not_found');
  const { id, kind, display_name: displayName, status } = found.principal;
  return {
    protocol: harnessProtocol,
    tenant: found.tenant,
    principal: { id, kind, displayName, status },
    session: found.session === null ? null : sessionSummaryOf(found.session),
    activeSessions: found.active_sessions.map(sessionSummaryOf),
    activeClaims: found.active_claims.map(heldClaimOf),
    activeRuns: found.active_runs.map(ownRunOf),
    suspendedRuns: found.suspended_runs.map(ownRunOf),
    roles: found.roles,
    capabilities: found.capabilities,
    skills: found.skills,
    pendingApprovals: found.pending_approvals.map((approval) => ({
      ...approval,
      createdAt: timestampText(approval.createdAt),
    })),
    eventCursor: cursorAtHorizon(found.horizon),
    permissions: [...caller.permissions].sort(),
  };
}
