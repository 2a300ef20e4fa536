import { infiniteQueryOptions, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Claim, Run, Session } from '@baton/sdk';
import { baton } from '../client.ts';
import { onEvent } from '../live.ts';
import { serverNow } from '../server-clock.ts';

/** Heartbeats write no event: what depends on them is read again, while the page is in sight. */
const everyMs = 5_000;
/** Of more than one page of sessions each is read again: seldom enough. */
const longEveryMs = 20_000;
/** What an event tells of is read again at most so often: a busy tenant writes hundreds a second. */
const gatherMs = 1_500;
const lookEveryMs = 1_000;
/** A session beats every third of its lease: by this part of it the third beat in a row is late. */
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

/** The newest claims that are live. */
export const claimsQuery = queryOptions({
  queryKey: ['people', 'claims'],
  queryFn: ({ signal }) =>
    baton.claims.list({ status: 'active', limit: claimsMax }, { signal }).then(({ items }) => items),
  staleTime: 0,
  refetchInterval: everyMs,
});

/** What a task is called. It is no part of the lists of tasks, all of which are read again with each event of any task. */
export const heldTaskQuery = (id: string) =>
  queryOptions({
    queryKey: ['held-task', id],
    queryFn: ({ signal }) => baton.tasks.get(id, { signal }),
    staleTime: 600_000,
  });

/** The newest runs that go on, and those of them that say nothing any more. */
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

/** Of the newest agents those that may act, those that are disabled, and whether there may be older ones. */
export const agentsQuery = queryOptions({
  queryKey: ['people', 'agents'],
  queryFn: ({ signal }) =>
    baton.principals.list({ kind: 'agent', limit: agentsMax }, { signal }).then(({ items, nextCursor }) => ({
      active: items.filter(({ status }) => status === 'active'),
      disabled: items.filter(({ status }) => status === 'disabled'),
      isCut: nextCursor !== null,
    })),
});

/** Reads again what sessions, claims and runs have changed, soon after it happened. */
export function useLivePeople(): void {
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = () => {
      timer = undefined;
      // Whoever comes back reads all of it again.
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

/** The time each second: who falls silent is seen, though nothing that was read has changed. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), lookEveryMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Whether nothing was heard of a session for three of its beats; MCP clients over HTTP may beat once in minutes. */
export function isSilent({ heartbeatAt, expiresAt }: Session, now: number): boolean {
  const heardMs = Date.parse(heartbeatAt);
  return now - heardMs > silentPart * (Date.parse(expiresAt) - heardMs);
}

/** What one principal does now. */
export interface Activity {
  readonly principalId: string;
  readonly sessions: readonly Session[];
  readonly held: readonly { readonly claim: Claim; readonly run: Run | undefined }[];
}

/** By principal, those whose sessions are the newest first; also who holds something without a session in sight. */
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
