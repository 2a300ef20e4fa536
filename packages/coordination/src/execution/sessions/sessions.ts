import type { ItemPage } from '@baton/kernel/database/list';
import { NeedsTransaction } from '@baton/kernel/http/command';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { lockPrincipal } from '../../access/authn/principal-lock.ts';
import { endSession, expireSession } from '../../leases/end-session.ts';
import { leaseBounds } from '../../leases/lease-bounds.ts';
import type { SessionRow } from '../../leases/lease-rows.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument } from '../../service/documents.ts';
import { holds } from '../../service/permissions.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findSessionState, lockSession, lockSessionRow } from './live-session.sql.ts';
import { checkHarness, knownCapabilitiesOf } from './protocol.ts';
import { type Session, type SessionRequest, sessionOf, sessionStatuses } from './session.ts';
import { sessionOpened } from './sessions.events.ts';
import {
  findLiveDelegation,
  findSession,
  insertSession,
  listOfSessions,
  takeSessionLock,
  updateSessionLease,
} from './sessions.sql.ts';

/**
 * Opens a session for the caller (docs/reference/sessions.md#open).
 * @throws Refusal `unsupported_protocol_version`, `invalid_harness`, `invalid_ttl`, `payload_too_large`,
 * `payload_too_deep`, `not_found`, `delegation_required`
 */
export async function openSession(context: Context, request: SessionRequest): Promise<Session> {
  const { caller, tenantId } = context;
  const { harness, onBehalfOf } = request;
  if (harness != null) checkHarness(harness);
  const ttlSeconds = sessionTtl(context, request.ttlSeconds);
  checkDocument(request.metadata, { field: 'metadata' });
  if (harness != null) checkDocument(harness.environment, { field: 'harness.environment' });
  const delegationId = onBehalfOf == null ? null : await requireDelegation(context, onBehalfOf);
  const row = (await context.db.row(
    insertSession({
      id: newId(),
      tenantId,
      principalId: caller.principalId,
      onBehalfOfId: onBehalfOf ?? null,
      delegationId,
      clientName: request.clientName,
      clientVersion: request.clientVersion,
      controlLevel: caller.kind === 'human' ? 'human_operated' : 'connected',
      harness:
        harness == null
          ? null
          : {
              ...harness,
              hostname: harness.hostname ?? null,
              capabilities: knownCapabilitiesOf(harness.capabilities),
            },
      metadata: request.metadata,
      revocableBy: caller.revocableBy ?? null,
      ttlSeconds,
    }),
  )) as SessionRow;
  const session = sessionOf(row);
  const { clientName, harnessType, controlLevel, protocolVersion, expiresAt } = session;
  const about = { entityId: row.id, sessionId: row.id };
  const payload = { clientName, harnessType, controlLevel, protocolVersion, expiresAt };
  emit(context, sessionOpened, about, { ...payload, onBehalfOf: session.onBehalfOf });
  return session;
}

/** Requires that the person is active and has a live delegation to the caller. */
async function requireDelegation(context: Context, onBehalfOf: string): Promise<string> {
  const { tenantId, caller, db } = context;
  const person = await lockPrincipal(context, onBehalfOf);
  const delegation =
    person.status === 'active'
      ? await db.row(findLiveDelegation(tenantId, onBehalfOf, caller.principalId))
      : undefined;
  return delegation?.id ?? fail('delegation_required', { onBehalfOf });
}

/**
 * Lists the sessions that the caller can see. A person with restricted visibility sees their own sessions and those
 * that only work in visible workspaces.
 * @throws Refusal `invalid_status`, `invalid_cursor`
 */
export async function listSessions(
  context: Context,
  { status, principalId }: { status?: string; principalId?: string },
  page: Page,
): Promise<ItemPage<Session>> {
  if (status !== undefined && !sessionStatuses.some((known) => known === status))
    fail('invalid_status', { known: sessionStatuses });
  const list = listOfSessions(context.tenantId, { status, principal_id: principalId });
  return listSeen(context.db, await viewerOf(context), list, page, sessionOf);
}

/** @throws Refusal `not_found`, `permission_denied` for another principal's session without `sessions.manage` */
export async function getSession(context: Context, sessionId: string): Promise<Session> {
  const row = await context.db.row(findSession(context.tenantId, sessionId));
  if (row === undefined) return fail('not_found');
  refuseStranger(context, row.principal_id);
  return sessionOf(row);
}

/**
 * Extends a session's lease; by default by its original length. It emits no event.
 * @throws Refusal `not_found`, `permission_denied`, `session_not_active`, `session_expired`, `invalid_ttl`
 */
export function heartbeatSession(
  context: Context,
  sessionId: string,
  ttlAsked: number | null | undefined,
): Promise<Session> {
  const ttlSeconds = ttlAsked ?? null;
  return context.transactional
    ? renewInTransaction(context, sessionId, ttlSeconds)
    : renewInStatement(context, sessionId, ttlSeconds);
}

/** The usual case: a single statement. If it changes nothing, the reason is found in a transaction. */
async function renewInStatement(
  context: Context,
  sessionId: string,
  ttlSeconds: number | null,
): Promise<Session> {
  const fits = ttlSeconds === null || fitsSession(context, ttlSeconds);
  const row = fits ? await renewLease(context, sessionId, ttlSeconds) : undefined;
  if (row === undefined) throw new NeedsTransaction();
  return sessionOf(row);
}

/**
 * Locks the session and finds the reason for a refusal; if its lease has expired, that is recorded along with the
 * refusal.
 */
async function renewInTransaction(
  context: Context,
  sessionId: string,
  ttlSeconds: number | null,
): Promise<Session> {
  await refuseDeadSession(context, sessionId);
  if (ttlSeconds !== null) sessionTtl(context, ttlSeconds);
  const row = await renewLease(context, sessionId, ttlSeconds);
  if (row === undefined) await refuseDeadSession(context, sessionId);
  if (row !== undefined) return sessionOf(row);
  throw new Error('a heartbeat was refused without an obstacle');
}

function renewLease(context: Context, sessionId: string, ttlSeconds: number | null) {
  const { db, tenantId, caller } = context;
  return db.row(
    updateSessionLease({
      tenantId,
      sessionId,
      callerId: caller.principalId,
      mayManage: mayManage(context),
      revocableBy: caller.revocableBy ?? null,
      ttlSeconds,
    }),
  );
}

/**
 * Locks the session and refuses the request if it has ended or isn't the caller's. An expiry found here is recorded.
 */
async function refuseDeadSession(context: Context, sessionId: string): Promise<void> {
  const { db, tenantId, caller } = context;
  await db.row(lockSession(tenantId, sessionId));
  await db.row(lockSessionRow(tenantId, sessionId));
  const state = await db.row(findSessionState(tenantId, sessionId, caller.principalId));
  if (state === undefined || state.id === null) return fail('not_found');
  refuseStranger(context, state.principal_id);
  if (state.status !== 'active') fail('session_not_active', { sessionId, status: state.status });
  if (state.lease_over) {
    await expireSession(context, sessionId);
    fail('session_expired', { sessionId }, { commits: true });
  }
  if (state.delegation_over) {
    await endSession(context, sessionId, 'delegation_ended');
    fail('session_not_active', { sessionId, status: 'closed' }, { commits: true });
  }
}

/**
 * Closes a session for its owner or a manager. Waits for the commands under it; those that take longer than 600 ms lose
 * their connection.
 * @throws Refusal `not_found`, `permission_denied`
 */
export async function closeSession(context: Context, sessionId: string): Promise<Session> {
  const session = await getSession(context, sessionId);
  if (session.status === 'closed') return session;
  await context.db.row(takeSessionLock(sessionId));
  const ended = await endSession(context, sessionId);
  return ended === undefined ? getSession(context, sessionId) : sessionOf(ended.session);
}

function mayManage({ caller }: Context): boolean {
  return holds(caller.permissions, 'sessions.manage');
}

function refuseStranger(context: Context, ownerId: string): void {
  if (ownerId === context.caller.principalId || mayManage(context)) return;
  fail('permission_denied', { required: ['sessions.manage'] });
}

function fitsSession({ settings }: Context, ttlSeconds: number): boolean {
  const { min, max } = leaseBounds(settings, 'CP_SESSION');
  return ttlSeconds >= min && ttlSeconds <= max;
}

function sessionTtl(context: Context, asked: number | null | undefined): number {
  const { min, usual, max } = leaseBounds(context.settings, 'CP_SESSION');
  const ttlSeconds = asked ?? usual;
  return fitsSession(context, ttlSeconds) ? ttlSeconds : fail('invalid_ttl', { min, max });
}
