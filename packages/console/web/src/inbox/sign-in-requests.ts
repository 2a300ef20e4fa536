import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { HarnessContext } from '@baton/sdk';
import { type Administration, useAdministration } from '../administration/admin-secret.ts';
import { onEvent } from '../live.ts';
import { Refetches } from '../refetches.ts';

const shownMax = 50;
const queryKey = ['administration', 'sign-in-requests'];

export type SignInRequest = Awaited<
  ReturnType<Administration['identity']['signInRequests']['list']>
>['items'][number];

/** The oldest pending sign-in requests, for a person who may admit them, while the administration is unlocked. */
export function useSignInRequests(me: HarnessContext | undefined) {
  const administration = useAdmitting(me);
  return useQuery({
    queryKey,
    queryFn:
      administration === undefined
        ? skipToken
        : async ({ signal }) => {
            const { identity, tenantId } = administration;
            const { items, next_after } = await identity.signInRequests.list(
              tenantId,
              { status: 'pending', limit: shownMax },
              { signal },
            );
            return { items, hasMore: next_after !== null };
          },
    // Without a valid token, a background refetch would lock the administration while a person is working.
    refetchOnWindowFocus: () => administration?.isReady() ?? false,
  });
}

/**
 * Reads the requests again when coordination's journal reports a change to a principal, for example because
 * another administrator admitted somebody. A new request has no event there, and only operators may read identity's
 * journal.
 */
export function useSignInRequestChanges(me: HarnessContext | undefined): void {
  const queries = useQueryClient();
  const administration = useAdmitting(me);
  useEffect(() => {
    if (administration === undefined) return;
    const refetches = new Refetches(() => queries.invalidateQueries({ queryKey }));
    const forget = onEvent(({ entityType }) => {
      if (entityType === 'principal' && administration.isReady()) refetches.request('sign-in-requests');
    });
    return () => {
      forget();
      refetches.stop();
    };
  }, [administration, queries]);
}

function useAdmitting(me: HarnessContext | undefined): Administration | undefined {
  const administration = useAdministration();
  return me?.permissions.includes('principals.write') ? administration : undefined;
}
