import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { HarnessContext, HeldClaim } from '@baton/sdk';
import { baton } from '../client.ts';
import { tell } from '../parts/Notices.tsx';
import { meQuery, queries } from '../queries.ts';
import { serverNow } from '../server-clock.ts';
import { holdsOf, keepHold, type Loss, lossOf, ownSessions } from './holds.ts';

const beatMs = 60_000;
/** A session that never had a lease is closed once it is so old: a younger one may be about to take its task. */
const unusedMsMin = 30_000;
/** So many are remembered, the newest ones. */
const lossesMax = 50;

let losses: ReadonlyMap<string, Loss> = new Map();
const listeners = new Set<() => void>();

function setLosses(next: ReadonlyMap<string, Loss>): void {
  losses = new Map([...next].slice(-lossesMax));
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** How the lease of this task was lost in the console, until that is forgotten; undefined where it was not. */
export function useLoss(taskId: string): Loss | undefined {
  return useSyncExternalStore(subscribe, () => losses.get(taskId));
}

/** The person has read of the loss, or has taken the task again. */
export function forgetLoss(taskId: string): void {
  if (losses.has(taskId)) setLosses(new Map([...losses].filter(([id]) => id !== taskId)));
}

/** The lease that this person holds on a task through the console. */
export function useHold(taskId: string): HeldClaim | undefined {
  return holdsOf(useQuery(meQuery).data).find((hold) => hold.taskId === taskId);
}

/**
 * Keeps the leases of this person's console alive while the page is open, after a reload too, and says when one was lost.
 * The end of the last page ends them some minutes later.
 */
export function useKeepHolds(me: HarnessContext | undefined): void {
  const known = useRef<ReadonlyMap<string, HeldClaim>>(new Map());
  useEffect(() => {
    if (me === undefined) return;
    const now = new Map(holdsOf(me).map((hold) => [hold.id, hold]));
    for (const hold of now.values()) forgetLoss(hold.taskId);
    const ended = [...known.current.values()].filter(({ id }) => !now.has(id));
    for (const hold of ended) void tellLoss(hold, me.principal.id);
    known.current = now;
    const used = new Set([...now.values()].map(({ sessionId }) => sessionId));
    const over = new Set(ended.map(({ sessionId }) => sessionId));
    for (const { id, startedAt } of ownSessions(me))
      if (over.has(id) || (!used.has(id) && serverNow() - Date.parse(startedAt) > unusedMsMin))
        void baton.sessions.close(id).catch(() => undefined);
  }, [me]);

  const isHolding = holdsOf(me).length > 0;
  useEffect(() => {
    if (!isHolding) return;
    const beat = () => void keepAll([...known.current.values()]);
    const onShown = () => document.hidden || beat();
    beat();
    const timer = setInterval(beat, beatMs);
    addEventListener('online', beat);
    document.addEventListener('visibilitychange', onShown);
    return () => {
      clearInterval(timer);
      removeEventListener('online', beat);
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [isHolding]);
}

async function keepAll(holds: readonly HeldClaim[]): Promise<void> {
  const kept = await Promise.all(holds.map(keepHold));
  if (kept.includes(false)) await queries.invalidateQueries({ queryKey: meQuery.queryKey });
  if (kept.includes(true)) await queries.invalidateQueries({ queryKey: ['tasks', 'claim'] });
}

async function tellLoss(hold: HeldClaim, me: string): Promise<void> {
  const loss = await lossOf(hold, me);
  if (loss === undefined) return;
  setLosses(new Map([...losses].filter(([id]) => id !== hold.taskId)).set(hold.taskId, loss));
  tell(
    <p>
      You do not hold{' '}
      <Link to="/tasks/$ref" params={{ ref: hold.taskPublicId }}>
        {hold.taskPublicId}
      </Link>{' '}
      any more.
    </p>,
    { isBad: true },
  );
}
