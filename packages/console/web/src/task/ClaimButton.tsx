import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { ErrorNote } from '../parts/Notes.tsx';
import { useKeys } from '../shell/keys.ts';
import { useCanClaim } from './claimability.ts';
import { claimTask } from './holds.ts';

/** Claims the task for this person. Hidden if the task can't be claimed; ClaimabilityReasons shows why. */
export function ClaimButton({ task }: { task: Task }) {
  const queries = useQueryClient();
  const isOffered = useCanClaim(task);
  const take = useMutation({
    mutationFn: () => claimTask(task),
    onSettled: async () => {
      for (const key of ['me', 'tasks']) await queries.invalidateQueries({ queryKey: [key] });
    },
  });
  const isPossible = isOffered && !take.isPending;
  useKeys({ t: () => isPossible && take.mutate() });
  return (
    <>
      {isOffered && (
        <button
          type="button"
          className="primary"
          aria-keyshortcuts="t"
          disabled={take.isPending}
          onClick={() => take.mutate()}
        >
          {take.isPending ? 'Claiming …' : 'Claim'}
        </button>
      )}
      {take.isError && <ErrorNote error={take.error} />}
    </>
  );
}
