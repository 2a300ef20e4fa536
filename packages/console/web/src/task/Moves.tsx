import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { BatonError, etagOf, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { taskQuery } from '../queries.ts';
import { Conflict } from './Conflict.tsx';

/** The statuses that the task can go to from here. A change that lost a race shows what somebody else has made of it. */
export function Moves({ task }: { task: Task }) {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ['tasks', 'transitions', task.id, task.version],
    queryFn: ({ signal }) => baton.tasks.listTransitions(task.id, { signal }),
  });
  const key = taskQuery(task.publicId).queryKey;
  const move = useMutation({
    mutationFn: ({ status, route }: { status: string; route: 'update' | 'complete' }) => {
      const ifMatch = etagOf(task);
      return route === 'complete'
        ? baton.tasks.complete(task.id, {}, { ifMatch })
        : baton.tasks.update(task.id, { status }, { ifMatch });
    },
    onMutate: ({ status }) => {
      const before = queries.getQueryData(key);
      queries.setQueryData(key, { ...task, status });
      return { before };
    },
    onError: (_error, _move, made) => queries.setQueryData(key, made?.before),
    onSuccess: (changed) => queries.setQueryData(key, changed),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['tasks'] }),
  });
  const isConflict = move.error instanceof BatonError && move.error.code === 'version_conflict';
  if (data === undefined || data.targets.length === 0) return null;
  return (
    <div className="stack">
      <div className="row" role="group" aria-label="Move the task">
        {data.targets.map(({ status, displayName, route }) => (
          <button
            key={status}
            type="button"
            disabled={move.isPending}
            onClick={() => move.mutate({ status, route })}
          >
            {displayName}
          </button>
        ))}
      </div>
      {isConflict ? <Conflict task={task} /> : move.isError && <ErrorNote error={move.error} />}
    </div>
  );
}
