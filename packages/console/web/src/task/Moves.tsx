import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { BatonError, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { taskQuery, versionOf } from '../queries.ts';
import { Conflict } from './Conflict.tsx';
import { fenceOf } from './holds.ts';
import { sendAnswers } from './step-form/form-registry.ts';
import styles from './task.module.css';

/** The available transitions of the task. After a version conflict, it shows the concurrent change. */
export function Moves({ task }: { task: Task }) {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ['tasks', 'transitions', task.id, task.version],
    queryFn: ({ signal }) => baton.tasks.listTransitions(task.id, { signal }),
  });
  const key = taskQuery(task.publicId).queryKey;
  const move = useMutation({
    async mutationFn({ status, route }: { status: string; route: 'update' | 'complete' }) {
      const fence = fenceOf(task.id);
      if (route === 'update')
        return baton.tasks.update(task.id, { status, ...fence }, { ifMatch: versionOf(task) });
      const submitted = await sendAnswers(task);
      return baton.tasks.complete(task.id, fence, { ifMatch: versionOf(submitted) });
    },
    onMutate: ({ status }) => {
      const before = queries.getQueryData(key);
      queries.setQueryData(key, { ...task, status });
      return { before };
    },
    onError: (_error, _move, made) => queries.setQueryData(key, made?.before),
    onSuccess: (changed) => queries.setQueryData(key, changed),
    onSettled: () => {
      for (const name of ['tasks', 'me']) void queries.invalidateQueries({ queryKey: [name] });
    },
  });
  const isConflict = move.error instanceof BatonError && move.error.code === 'version_conflict';
  if (data === undefined || data.targets.length === 0) return null;
  return (
    <div className={styles.moves}>
      <div className={styles.targets} role="group" aria-label="Status">
        <span className="soft">Move to</span>
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
