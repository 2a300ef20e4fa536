import { queryOptions } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';

/** The claim on a task. */
export const claimQuery = ({ activeClaimId }: Pick<Task, 'activeClaimId'>) =>
  queryOptions({
    queryKey: ['tasks', 'claim', activeClaimId],
    queryFn: ({ signal }) => baton.claims.get(activeClaimId ?? '', { signal }),
    enabled: activeClaimId !== null,
    // Heartbeats write no events, so the claim is read again before its lease would appear to have expired.
    refetchInterval: 10_000,
  });
