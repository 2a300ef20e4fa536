import { newId } from '@baton/values/ids';
import { undoOnFailure } from '../ledger/savepoint.ts';
import type { QueuePosition } from '../service/queue-walk.ts';
import type { Context } from './context.ts';
import {
  countWork,
  deleteEnding,
  findEndings,
  insertEnding,
  lockFreeSessions,
  tryLockEnding,
  tryLockSession,
} from './end-session.sql.ts';
import { endSession } from './end-session.ts';
import { failRunsOfClaims } from './fail-runs.ts';
import { endingBatchMax } from './lease-bounds.ts';
import type { EndingRow } from './lease-rows.ts';
import {
  type Batch,
  countActiveClaimsOfSession,
  lockFreeClaim,
  lockFreeClaimsOfHolder,
  lockFreeClaimsOfSession,
} from './release.sql.ts';
import { releaseClaims } from './release.ts';

/**
 * The reason that the events give for the end of all work of a principal: it was disabled, or retired as a registry
 * agent.
 */
export type EndOfPrincipal = 'principal_disabled' | 'agent_retired';
const endsOfPrincipals: readonly string[] = [
  'principal_disabled',
  'agent_retired',
] satisfies EndOfPrincipal[];

/** The endings that a worker processes in one round. */
export const findDueEndings = (after: QueuePosition) => findEndings(after, endingBatchMax);

/** A session or claim that an ending must end. */
export interface EndingPart {
  readonly kind: 'session' | 'claim';
  readonly id: string;
}

const firstBatch: Batch = { rowsMax: endingBatchMax, except: [] };

/**
 * Ends the work of a disabled principal: the first batch now, the rest by the worker. It doesn't wait for locks: rows
 * that another transaction has locked are also left to the worker, and so is everything if one session or claim can't
 * be ended. The caller holds the principal's lock exclusively.
 * @param reason for the events
 * @returns the totals
 */
export async function endWorkOf(context: Context, principalId: string, reason: EndOfPrincipal) {
  const { db, tenantId } = context;
  const counted = (await db.row(countWork(tenantId, principalId, 'infinity'))) ?? none;
  if (counted.sessions + counted.claims > 0) {
    const end = () => endSomeWork(context, { principalId, reason }, 'infinity', firstBatch);
    await undoOnFailure(context, end, (error) => {
      context.log.error({ err: error, principalId }, 'the work of a principal is left to the worker');
      return 0;
    });
    const left = (await db.row(countWork(tenantId, principalId, 'infinity'))) ?? none;
    if (left.sessions + left.claims > 0)
      await db.run(insertEnding({ id: newId(), tenantId, principalId, sessionId: null, reason }));
  }
  return { closedSessions: counted.sessions, releasedClaims: counted.claims, failedRuns: counted.runs };
}

const none = { sessions: 0, claims: 0, runs: 0 };

/**
 * Processes one ending; its last batch deletes it.
 * @param except the sessions and claims that failed and are paused until their next attempt
 * @returns the number of ended sessions and claims
 */
export async function continueEnding(
  context: Context,
  endingId: string,
  except: readonly string[],
): Promise<number> {
  const { db, tenantId } = context;
  const ending = await db.row(tryLockEnding(tenantId, endingId));
  if (ending === undefined) return 0;
  const ended = await endBatch(context, ending, { rowsMax: endingBatchMax, except });
  if (ended === 0 && !(await hasMore(context, ending))) await db.run(deleteEnding(tenantId, endingId));
  return ended;
}

async function endBatch(context: Context, ending: EndingRow, batch: Batch): Promise<number> {
  const { session_id: sessionId, principal_id: principalId, acknowledged_at: until, reason } = ending;
  if (principalId !== null) return endSomeWork(context, { principalId, reason }, until, batch);
  const found = await context.db.rows(lockFreeClaimsOfSession(context.tenantId, sessionId as string, batch));
  return releaseFor(context, ending, found);
}

/** Releases claims whose tasks are locked, and fails their runs if a principal was disabled. */
async function releaseFor(
  context: Context,
  { reason }: EndingRow,
  claims: readonly { id: string }[],
): Promise<number> {
  const claimIds = claims.map(({ id }) => id);
  const released = await releaseClaims(context, { claimIds }, { reason, taskStatusMove: true });
  const releasedIds = released.map(({ id }) => id);
  if (endsOfPrincipals.includes(reason)) await failRunsOfClaims(context, releasedIds, reason);
  return released.length;
}

/**
 * The sessions and claims of an ending's batch, so that each can be tried separately after the batch has failed;
 * read-only.
 */
export async function findEndingParts(
  { db, tenantId }: Context,
  endingId: string,
  except: readonly string[],
): Promise<EndingPart[]> {
  const batch = { rowsMax: endingBatchMax, except };
  const ending = await db.row(tryLockEnding(tenantId, endingId));
  if (ending === undefined) return [];
  const { session_id: sessionId, principal_id: principalId, acknowledged_at: until } = ending;
  const sessions =
    principalId === null ? [] : await db.rows(lockFreeSessions(tenantId, principalId, until, batch));
  const claims = await db.rows(
    principalId === null
      ? lockFreeClaimsOfSession(tenantId, sessionId as string, batch)
      : lockFreeClaimsOfHolder(tenantId, principalId, until, batch),
  );
  return [
    ...sessions.map(({ id }) => ({ kind: 'session', id }) as const),
    ...claims.map(({ id }) => ({ kind: 'claim', id }) as const),
  ];
}

/**
 * Ends one session or claim of an ending; the claims of a session become an ending of their own, because one of them
 * may be the cause of the failure.
 * @returns 1, or 0 if another transaction has locked it or it has ended
 */
export async function endPart(context: Context, endingId: string, { kind, id }: EndingPart): Promise<number> {
  const { db, tenantId } = context;
  const ending = await db.row(tryLockEnding(tenantId, endingId));
  if (ending === undefined) return 0;
  if (kind === 'claim') return releaseFor(context, ending, await db.rows(lockFreeClaim(tenantId, id)));
  if ((await db.row(tryLockSession(tenantId, id))) === undefined) return 0;
  return (await endSession(context, id, ending.reason, { claimsMax: 0 })) === undefined ? 0 : 1;
}

/** Whether rows remain because another transaction has locked them. */
async function hasMore({ db, tenantId }: Context, ending: EndingRow): Promise<boolean> {
  if (ending.session_id !== null)
    return ((await db.row(countActiveClaimsOfSession(tenantId, ending.session_id)))?.count ?? 0) > 0;
  const left = await db.row(countWork(tenantId, ending.principal_id as string, ending.acknowledged_at));
  return left !== undefined && left.sessions + left.claims > 0;
}

/** Ends sessions with their claims first, then claims in other sessions, then the runs of all these claims. */
async function endSomeWork(
  context: Context,
  { principalId, reason }: { principalId: string; reason: string },
  until: string,
  batch: Batch,
): Promise<number> {
  const { db, tenantId } = context;
  const sessions = await db.rows(lockFreeSessions(tenantId, principalId, until, batch));
  const releasedIds: string[] = [];
  for (const { id } of sessions) {
    const claimsMax = endingBatchMax - releasedIds.length;
    const ended = await endSession(context, id, reason, { claimsMax, undone: false });
    releasedIds.push(...(ended?.releasedIds ?? []));
  }
  const more = { ...batch, rowsMax: endingBatchMax - releasedIds.length };
  const held = await db.rows(lockFreeClaimsOfHolder(tenantId, principalId, until, more));
  const claimIds = held.map(({ id }) => id);
  const released = await releaseClaims(context, { claimIds }, { reason, taskStatusMove: true });
  releasedIds.push(...released.map(({ id }) => id));
  await failRunsOfClaims(context, releasedIds, reason);
  return sessions.length + releasedIds.length;
}
