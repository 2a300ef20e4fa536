import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Claim, Run, Session } from '@baton/sdk';
import { baton } from '../client.ts';

/** Heartbeats write no event: what depends on them is read again. */
const everyMs = 5_000;
const claimsMax = 200;
const runsMax = 200;
const agentsMax = 200;

export const sessionsQuery = infiniteQueryOptions({
  queryKey: ['sessions', 'active'],
  queryFn: ({ pageParam, signal }) =>
    baton.sessions.list(
      { status: 'active', limit: 100, ...(pageParam && { cursor: pageParam }) },
      { signal },
    ),
  initialPageParam: '',
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  select: ({ pages }) => pages.flatMap(({ items }) => items),
  refetchInterval: everyMs,
});

/** The newest claims that are live. */
export const claimsQuery = queryOptions({
  queryKey: ['tasks', 'claims', 'active'],
  queryFn: ({ signal }) =>
    baton.claims.list({ status: 'active', limit: claimsMax }, { signal }).then(({ items }) => items),
  refetchInterval: everyMs,
});

/** The newest runs that go on, and those of them that say nothing any more. */
export const runsQuery = queryOptions({
  queryKey: ['tasks', 'runs', 'running'],
  queryFn: async ({ signal }) => {
    const [running, stalled] = await Promise.all([
      baton.runs.list({ status: 'running', limit: runsMax }, { signal }),
      baton.runs.list({ stalled: true, limit: runsMax }, { signal }),
    ]);
    return { running: running.items, stalled: new Set(stalled.items.map(({ id }) => id)) };
  },
  refetchInterval: 2 * everyMs,
});

/** The newest agents that may act. */
export const agentsQuery = queryOptions({
  queryKey: ['principals', 'agents'],
  queryFn: ({ signal }) =>
    baton.principals
      .list({ kind: 'agent', limit: agentsMax }, { signal })
      .then(({ items }) => items.filter(({ status }) => status === 'active')),
});

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
