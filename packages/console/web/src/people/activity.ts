import { infiniteQueryOptions, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Claim, Run, Session } from '@baton/sdk';
import { baton } from '../client.ts';
import { onEvent } from '../live.ts';
import { serverNow } from '../server-clock.ts';

/** Heartbeats write no events, so their data is polled while the page is visible. */
const everyMs = 5_000;
/** If there is more than one page of sessions, every page is refetched, so this happens less often. */
const longEveryMs = 20_000;
/** Events trigger a refetch at most this often: a busy tenant writes hundreds a second. */
const gatherMs = 1_500;
const clockMs = 1_000;
/**
 * A session sends a heartbeat every third of its lease. After this part of the lease without a heartbeat, three
 * consecutive ones are missing.
 */
const silentPart = 0.9;
export const claimsMax = 200;
const runsMax = 200;
export const agentsMax = 200;

export const sessionsQuery = infiniteQueryOptions({
  queryKey: ['people', 'sessions'],
  queryFn: ({ pageParam, signal }) =>
    baton.sessions.list(
      { status: 'active', limit: 100, ...(pageParam && { cursor: pageParam }) },
      { signal },
    ),
  initialPageParam: '',
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  select: ({ pages }) => pages.flatMap(({ items }) => items),
  staleTime: 0,
  refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 ? everyMs : longEveryMs),
});

/** The newest active claims. */
export const claimsQuery = queryOptions({
  queryKey: ['people', 'claims'],
  queryFn: ({ signal }) =>
    baton.claims.list({ status: 'active', limit: claimsMax }, { signal }).then(({ items }) => items),
  staleTime: 0,
  refetchInterval: everyMs,
});

/** A held task, for its title. Not under the query key of tasks, which is refetched on every task event. */
export const heldTaskQuery = (id: string) =>
  queryOptions({
    queryKey: ['held-task', id],
    queryFn: ({ signal }) => baton.tasks.get(id, { signal }),
    staleTime: 600_000,
  });

/** The newest running runs, and the stalled ones. */
export const runsQuery = queryOptions({
  queryKey: ['people', 'runs'],
  queryFn: async ({ signal }) => {
    const [running, stalled] = await Promise.all([
      baton.runs.list({ status: 'running', limit: runsMax }, { signal }),
      baton.runs.list({ stalled: true, limit: runsMax }, { signal }),
    ]);
    return { running: running.items, stalled: new Set(stalled.items.map(({ id }) => id)) };
  },
  staleTime: 0,
  refetchInterval: 2 * everyMs,
});

/** The newest agents, active and disabled, and whether older ones exist. */
export const agentsQuery = queryOptions({
  queryKey: ['people', 'agents'],
  queryFn: ({ signal }) =>
    baton.principals.list({ kind: 'agent', limit: agentsMax }, { signal }).then(({ items, nextCursor }) => ({
      active: items.filter(({ status }) => status === 'active'),
      disabled: items.filter(({ status }) => status === 'disabled'),
      isCut: nextCursor !== null,
    })),
});

/** Refetches soon after an event of a session, claim or run. */
export function useLivePeople(): void {
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = () => {
      timer = undefined;
      // A hidden page needs no refetch: it refetches everything when it becomes visible again.
      if (!document.hidden) void queries.invalidateQueries({ queryKey: ['people'] });
    };
    const stop = onEvent(({ entityType, type }) => {
      if (['session', 'claim', 'run'].includes(entityType) || type === 'task.claimed')
        timer ??= setTimeout(read, gatherMs);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [queries]);
}

/** The time, updated each second, so that a session becomes unresponsive without a refetch. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), clockMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Whether a session has missed three heartbeats. MCP clients over HTTP may send one only every few minutes. */
export function isSilent({ heartbeatAt, expiresAt }: Session, now: number): boolean {
  const heardMs = Date.parse(heartbeatAt);
  return now - heardMs > silentPart * (Date.parse(expiresAt) - heardMs);
}

/** The current activity of one principal. */
export interface Activity {
  readonly principalId: string;
  readonly sessions: readonly Session[];
  readonly held: readonly { readonly claim: Claim; readonly run: Run | undefined }[];
}

/** Groups sessions and claims by principal, newest session first. Includes holders whose session was not read. */
export function activityOf(
  sessions: readonly Session[],
  claims: readonly Claim[] = [],
  runs: readonly Run[] = [],
): Activity[] {
  const ids = new Set([
    ...sessions.map(({ principalId }) => principalId),
    ...claims.map(({ holderId }) => holderId),
  ]);
  return [...ids].map((principalId) => ({
    principalId,
    sessions: sessions.filter((session) => session.principalId === principalId),
    held: claims
      .filter(({ holderId }) => holderId === principalId)
      .map((claim) => ({ claim, run: runs.find(({ claimId }) => claimId === claim.id) })),
  }));
}
