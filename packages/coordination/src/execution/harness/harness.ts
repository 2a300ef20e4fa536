import { timestampText } from '@baton/kernel/db';
import type { Context } from '../context.ts';
import { cursorAtHorizon } from '../../ledger/journal/cursor.ts';
import { fail } from '../errors.ts';
import { harnessProtocol } from '../sessions/protocol.ts';
import type { HarnessContext } from './harness.api.ts';
import {
  type HarnessContextRow,
  type HeldClaimRow,
  type OwnRunRow,
  readHarnessContext,
  type SessionSummaryRow,
} from './harness.sql.ts';

/** Nobody holds so many at once; a list beyond it shows the newest. */
const listMax = 1000;
const suspendedMax = 20;

/**
 * The caller's own context (core, section 6.4). It writes nothing, not even what it finds to be over. Reading the journal
 * from its cursor misses nothing that the state doesn't show, though the first events may be in the state already.
 * @throws Refusal `not_found` for a session that isn't the caller's
 */
export async function readContext(context: Context, sessionId?: string): Promise<HarnessContext> {
  const { tenantId, caller } = context;
  const found = (await context.db.row(
    readHarnessContext({
      tenantId,
      principalId: caller.principalId,
      sessionId: sessionId ?? null,
      listMax,
      suspendedMax,
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
    // The parts of the organisation that fill these come with it.
    roles: [],
    capabilities: [],
    skills: [],
    pendingApprovals: [],
    eventCursor: cursorAtHorizon(found.horizon),
    permissions: [...caller.permissions].sort(),
  };
}

function sessionSummaryOf(row: SessionSummaryRow): HarnessContext['activeSessions'][number] {
  return {
    id: row.id,
    status: row.status,
    clientName: row.client_name,
    clientVersion: row.client_version,
    harnessType: row.harness_type,
    harnessVersion: row.harness_version,
    controlLevel: row.control_level,
    protocolVersion: row.protocol_version,
    harnessCapabilities: row.harness_capabilities,
    startedAt: timestampText(row.started_at),
    expiresAt: timestampText(row.expires_at),
  };
}

function heldClaimOf(row: HeldClaimRow): HarnessContext['activeClaims'][number] {
  return {
    id: row.id,
    taskId: row.task_id,
    taskPublicId: row.public_id,
    taskTitle: row.title,
    taskStatus: row.task_status,
    sessionId: row.session_id,
    fencingToken: row.fencing_token,
    expiresAt: timestampText(row.expires_at),
  };
}

function ownRunOf(row: OwnRunRow): HarnessContext['activeRuns'][number] {
  return {
    id: row.id,
    taskId: row.task_id,
    claimId: row.claim_id,
    sessionId: row.session_id,
    status: row.status,
    attempt: row.attempt,
    fencingToken: row.fencing_token,
    startedAt: timestampText(row.started_at),
    finishedAt: row.finished_at === null ? null : timestampText(row.finished_at),
    cancelRequestedAt: row.cancel_requested_at === null ? null : timestampText(row.cancel_requested_at),
  };
}
