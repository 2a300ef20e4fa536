import { newId } from '@baton/kernel/ids';
import type { Context } from './context.ts';
import { endingBatchMax } from './lease-bounds.ts';
import type { EndingRow } from './lease-rows.ts';
import {
  countActiveClaimsOfSession,
  lockFreeClaimsOfHolder,
  lockFreeClaimsOfSession,
} from './release.sql.ts';
import { releaseClaims } from './release.ts';
import { failRunsOfClaims } from './run-ending.ts';
import {
  countWork,
  deleteEnding,
  findEndings,
  insertEnding,
  lockFreeSessions,
  tryLockEnding,
} from './session-ending.sql.ts';
import { endSession } from './session-ending.ts';

const ofPrincipal = 'principal_disabled';

/** The endings that a worker looks at in one round. */
export const findDueEndings = () => findEndings(endingBatchMax);

/**
 * Ends the work of a disabled principal: the first batch now, what is left by the worker. Nothing is waited for: what
 * another transaction has locked is left, too. The caller holds the principal's lock alone.
 * @returns what there was in all
 */
export async function endWorkOf(context: Context, principalId: string) {
  const { db, tenantId } = context;
  const counted = (await db.row(countWork(tenantId, principalId, 'infinity'))) ?? none;
  await endSomeWork(context, principalId, 'infinity');
  const left = (await db.row(countWork(tenantId, principalId, 'infinity'))) ?? none;
  if (left.sessions + left.claims > 0)
    await db.run(insertEnding({ id: newId(), tenantId, principalId, sessionId: null, reason: ofPrincipal }));
  return { closedSessions: counted.sessions, releasedClaims: counted.claims, failedRuns: counted.runs };
}

const none = { sessions: 0, claims: 0, runs: 0 };

/** Works on one ending; the last batch deletes it. @returns how many sessions and claims were ended */
export async function continueEnding(context: Context, endingId: string): Promise<number> {
  const { db, tenantId } = context;
  const ending = await db.row(tryLockEnding(tenantId, endingId));
  if (ending === undefined) return 0;
  const ended = await endBatch(context, ending);
  if (ended === 0 && !(await hasMore(context, ending))) await db.run(deleteEnding(tenantId, endingId));
  return ended;
}

async function endBatch(context: Context, ending: EndingRow): Promise<number> {
  const { session_id: sessionId, principal_id: principalId, reason } = ending;
  if (principalId !== null) return endSomeWork(context, principalId, ending.acknowledged_at);
  const found = await context.db.rows(
    lockFreeClaimsOfSession(context.tenantId, sessionId as string, endingBatchMax),
  );
  const claimIds = found.map(({ id }) => id);
  const released = await releaseClaims(context, { claimIds }, { reason, taskStatusMove: true });
  const releasedIds = released.map(({ id }) => id);
  if (reason === ofPrincipal) await failRunsOfClaims(context, releasedIds, reason);
  return released.length;
}

/** Whether something is left that another transaction has locked. */
async function hasMore({ db, tenantId }: Context, ending: EndingRow): Promise<boolean> {
  if (ending.session_id !== null)
    return ((await db.row(countActiveClaimsOfSession(tenantId, ending.session_id)))?.count ?? 0) > 0;
  const left = await db.row(countWork(tenantId, ending.principal_id as string, ending.acknowledged_at));
  return left !== undefined && left.sessions + left.claims > 0;
}

/** Sessions and their claims first, then what is held in anybody's session, then the runs of all those claims. */
async function endSomeWork(context: Context, principalId: string, until: string): Promise<number> {
  const { db, tenantId } = context;
  const sessions = await db.rows(lockFreeSessions(tenantId, principalId, until, endingBatchMax));
  const releasedIds: string[] = [];
  for (const { id } of sessions) {
    const claimsMax = endingBatchMax - releasedIds.length;
    const ended = await endSession(context, id, ofPrincipal, claimsMax);
    releasedIds.push(...(ended?.releasedIds ?? []));
  }
  const rowsMax = endingBatchMax - releasedIds.length;
  const held = await db.rows(lockFreeClaimsOfHolder(tenantId, principalId, until, rowsMax));
  const claimIds = held.map(({ id }) => id);
  const released = await releaseClaims(context, { claimIds }, { reason: ofPrincipal, taskStatusMove: true });
  releasedIds.push(...released.map(({ id }) => id));
  await failRunsOfClaims(context, releasedIds, ofPrincipal);
  return sessions.length + releasedIds.length;
}
