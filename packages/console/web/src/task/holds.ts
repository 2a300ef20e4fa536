import { BatonError, type HarnessContext, type HeldClaim, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery, queries } from '../queries.ts';
import { endReasons, isOwnEnd } from './lease-ends.ts';

/** What people see as the client of a session that the console opens; by it the console knows its own again. */
const clientName = 'Baton console';
/** Browsers let a page in the background act once a minute at most: the lease outlasts four of these beats. */
export const leaseSeconds = 300;

/** Sessions that consoles of this person have open. Each is for one task, and ends with its lease. */
export function ownSessions({ activeSessions }: HarnessContext): HarnessContext['activeSessions'] {
  return activeSessions.filter((session) => session.clientName === clientName && session.status === 'active');
}

/** The tasks that this person holds in the console, in whichever tab they were taken: every open one keeps them. */
export function holdsOf(me: HarnessContext | undefined): readonly HeldClaim[] {
  if (me === undefined) return [];
  const own = new Set(ownSessions(me).map(({ id }) => id));
  return me.activeClaims.filter(({ sessionId }) => own.has(sessionId));
}

/** What proves that a write comes from who holds the task; nothing where this person holds it not, or not here. */
export function fenceOf(taskId: string): { readonly claimId?: string; readonly fencingToken?: number } {
  const held = holdsOf(queries.getQueryData(meQuery.queryKey)).find((claim) => claim.taskId === taskId);
  return held === undefined ? {} : { claimId: held.id, fencingToken: held.fencingToken };
}

/**
 * Takes a task, in a session of its own.
 * @throws BatonError as `task_already_claimed`
 */
export async function takeTask({ id }: Pick<Task, 'id'>): Promise<void> {
  const session = await baton.sessions.open({ clientName, ttlSeconds: leaseSeconds });
  try {
    await baton.tasks.claim(id, { sessionId: session.id, ttlSeconds: leaseSeconds });
  } catch (error) {
    await baton.sessions.close(session.id).catch(() => undefined);
    throw error;
  }
}

/** Gives a task back, unfinished. One that was lost meanwhile stays as it is. */
export async function giveBack({ id, sessionId }: HeldClaim): Promise<void> {
  await baton.claims.release(id, { reason: endReasons.givenBack });
  await baton.sessions.close(sessionId).catch(() => undefined);
}

/**
 * Prolongs a lease and its session.
 * @returns whether it is still held; undefined while Baton does not answer
 */
export async function keepHold({ id, sessionId }: HeldClaim): Promise<boolean | undefined> {
  try {
    await baton.sessions.heartbeat(sessionId, { ttlSeconds: leaseSeconds });
    await baton.claims.heartbeat(id, { ttlSeconds: leaseSeconds });
    return true;
  } catch (error) {
    return error instanceof BatonError && [403, 404, 409].includes(error.status) ? false : undefined;
  }
}

/** A lease that ended although nobody gave the task back or finished it in a console of this person. */
export interface Loss {
  readonly hold: HeldClaim;
  /** Who ended it, where that is known; null where it ended by itself. */
  readonly by: string | null | undefined;
  readonly reason: string | null;
}

/** @returns how a lease was lost; undefined where its holder has ended it, or the task being done has */
export async function lossOf(hold: HeldClaim, me: string): Promise<Loss | undefined> {
  const [claim, events] = await Promise.allSettled([
    baton.claims.get(hold.id),
    baton.events.list({ entityId: hold.id, tail: 1 }),
  ]);
  const by = events.status === 'fulfilled' ? events.value.items.at(-1)?.actorId : undefined;
  if (claim.status === 'rejected') return { hold, by, reason: null };
  const { status, releaseReason } = claim.value;
  if (isOwnEnd(releaseReason, by, me)) return undefined;
  return { hold, by, reason: status === 'stale' ? null : releaseReason };
}
