import { BatonError, type HarnessContext, type HeldClaim, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery, queries } from '../queries.ts';
import { endReasons, isOwnEnd } from './lease-ends.ts';

/** The client name of sessions that the console opens. It identifies them as the console's own. */
const clientName = 'Baton console';
/** Browsers limit a background page to one timer a minute, so the lease spans four heartbeats. */
export const leaseSeconds = 300;

/** Open sessions of this person's consoles. Each belongs to one claim and is closed with it. */
export function listConsoleSessions({ activeSessions }: HarnessContext): HarnessContext['activeSessions'] {
  return activeSessions.filter((session) => session.clientName === clientName && session.status === 'active');
}

/** The claims that this person holds in the console, from any tab. Every open tab renews them. */
export function holdsOf(me: HarnessContext | undefined): readonly HeldClaim[] {
  if (me === undefined) return [];
  const own = new Set(listConsoleSessions(me).map(({ id }) => id));
  return me.activeClaims.filter(({ sessionId }) => own.has(sessionId));
}

/**
 * The claim and fencing token that a write to a held task needs; empty if this person does not hold it in the
 * console.
 */
export function fenceOf(taskId: string): { readonly claimId?: string; readonly fencingToken?: number } {
  const held = holdsOf(queries.getQueryData(meQuery.queryKey)).find((claim) => claim.taskId === taskId);
  return held === undefined ? {} : { claimId: held.id, fencingToken: held.fencingToken };
}

/**
 * Claims a task in a session of its own.
 * @throws BatonError as `task_already_claimed`
 */
export async function claimTask({ id }: Pick<Task, 'id'>): Promise<void> {
  const session = await baton.sessions.open({ clientName, ttlSeconds: leaseSeconds });
  try {
    await baton.tasks.claim(id, { sessionId: session.id, ttlSeconds: leaseSeconds });
  } catch (error) {
    await baton.sessions.close(session.id).catch(() => undefined);
    throw error;
  }
}

/** Releases a claim without completing the task. Has no effect on a claim that was lost. */
export async function releaseTask({ id, sessionId }: HeldClaim): Promise<void> {
  await baton.claims.release(id, { reason: endReasons.givenBack });
  await baton.sessions.close(sessionId).catch(() => undefined);
}

/** Renews a claim and its session. @returns whether it is still held; undefined if Baton does not respond */
export async function renewHold({ id, sessionId }: HeldClaim): Promise<boolean | undefined> {
  try {
    await baton.sessions.heartbeat(sessionId, { ttlSeconds: leaseSeconds });
    await baton.claims.heartbeat(id, { ttlSeconds: leaseSeconds });
    return true;
  } catch (error) {
    return error instanceof BatonError && [403, 404, 409].includes(error.status) ? false : undefined;
  }
}

/** A claim that ended without this person having released it or completed its task in a console. */
export interface Loss {
  readonly hold: HeldClaim;
  /** The principal that ended it; null if it expired, undefined if unknown. */
  readonly by: string | null | undefined;
  readonly reason: string | null;
}

/** @returns the loss of a claim; undefined if its holder ended it or completed the task */
export async function findLoss(hold: HeldClaim, me: string): Promise<Loss | undefined> {
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
