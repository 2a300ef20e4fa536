import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { ErrorNote } from '../parts/Notes.tsx';
import { useKeys } from '../shell/keys.ts';
import { useCanTake } from './claimability.ts';
import { takeTask } from './holds.ts';

/** Takes the task for this person. Not there where it can't be taken: the page says why beside it. */
export function Take({ task }: { task: Task }) {
  const queries = useQueryClient();
  const isOffered = useCanTake(task);
  const take = useMutation({
    mutationFn: () => takeTask(task),
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
          {take.isPending ? 'Taking …' : 'Take it'}
        </button>
      )}
      {take.isError && <ErrorNote error={take.error} />}
    </>
  );
}
