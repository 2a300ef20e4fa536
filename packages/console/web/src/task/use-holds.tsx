import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { HarnessContext, HeldClaim } from '@baton/sdk';
import { baton } from '../client.ts';
import { notify } from '../parts/Notices.tsx';
import { meQuery, queries } from '../queries.ts';
import { serverNow } from '../server-clock.ts';
import { findLoss, holdsOf, type Loss, listConsoleSessions, renewHold } from './holds.ts';

const heartbeatMs = 60_000;
/** An unused session is closed at this age. A younger one may be about to claim its task. */
const unusedMsMin = 30_000;
/** How many of the newest losses are kept. */
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

/** The loss of the console's claim on this task, until it is dismissed; undefined if it was not lost. */
export function useLoss(taskId: string): Loss | undefined {
  return useSyncExternalStore(subscribe, () => losses.get(taskId));
}

/** Dismisses a loss that the person has read, or that a new claim supersedes. */
export function forgetLoss(taskId: string): void {
  if (losses.has(taskId)) setLosses(new Map([...losses].filter(([id]) => id !== taskId)));
}

/** The claim that this person holds on a task through the console. */
export function useHold(taskId: string): HeldClaim | undefined {
  return holdsOf(useQuery(meQuery).data).find((hold) => hold.taskId === taskId);
}

/**
 * Renews the claims of this person's console while the page is open, even after a reload, and reports lost ones. The
 * claims expire some minutes after the last page is closed.
 */
export function useKeepHolds(me: HarnessContext | undefined): void {
  const known = useRef<ReadonlyMap<string, HeldClaim>>(new Map());
  useEffect(() => {
    if (me === undefined) return;
    const now = new Map(holdsOf(me).map((hold) => [hold.id, hold]));
    for (const hold of now.values()) forgetLoss(hold.taskId);
    const ended = [...known.current.values()].filter(({ id }) => !now.has(id));
    for (const hold of ended) void notifyLoss(hold, me.principal.id);
    known.current = now;
    const used = new Set([...now.values()].map(({ sessionId }) => sessionId));
    const over = new Set(ended.map(({ sessionId }) => sessionId));
    for (const { id, startedAt } of listConsoleSessions(me))
      if (over.has(id) || (!used.has(id) && serverNow() - Date.parse(startedAt) > unusedMsMin))
        void baton.sessions.close(id).catch(() => undefined);
  }, [me]);

  const hasHolds = holdsOf(me).length > 0;
  useEffect(() => {
    if (!hasHolds) return;
    const renew = () => void renewAll([...known.current.values()]);
    const onShown = () => document.hidden || renew();
    renew();
    const timer = setInterval(renew, heartbeatMs);
    addEventListener('online', renew);
    document.addEventListener('visibilitychange', onShown);
    return () => {
      clearInterval(timer);
      removeEventListener('online', renew);
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [hasHolds]);
}

async function renewAll(holds: readonly HeldClaim[]): Promise<void> {
  const kept = await Promise.all(holds.map(renewHold));
  if (kept.includes(false)) await queries.invalidateQueries({ queryKey: meQuery.queryKey });
  if (kept.includes(true)) await queries.invalidateQueries({ queryKey: ['tasks', 'claim'] });
}

async function notifyLoss(hold: HeldClaim, me: string): Promise<void> {
  const loss = await findLoss(hold, me);
  if (loss === undefined) return;
  setLosses(new Map([...losses].filter(([id]) => id !== hold.taskId)).set(hold.taskId, loss));
  notify(
    <p>
      You no longer hold{' '}
      <Link to="/tasks/$ref" params={{ ref: hold.taskPublicId }}>
        {hold.taskPublicId}
      </Link>
      .
    </p>,
    { isBad: true },
  );
}
