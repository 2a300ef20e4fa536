import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Task, TaskRelation } from '@baton/sdk';
import { baton } from '../client.ts';
import { Status } from '../parts/Category.tsx';
import { taskQuery } from '../queries.ts';
import { RelationGraph } from './RelationGraph.tsx';
import styles from './task.module.css';

/** The label of each relation, at its source task and at its target task. */
const words: Readonly<Record<TaskRelation['type'], readonly [string, string]>> = {
  parent: ['Subtask of', 'Subtask'],
  blocks: ['Blocks', 'Blocked by'],
  depends_on: ['Depends on', 'Required by'],
  spawned_by: ['Spawned by', 'Spawned'],
  related_to: ['Related to', 'Related to'],
};
const shownMax = 30;

/** The related tasks, labelled from this task's point of view. */
export function Relations({ task }: { task: Task }) {
  const { data } = useQuery({
    queryKey: ['tasks', 'relations', task.id],
    queryFn: ({ signal }) => baton.tasks.listRelations(task.id, { signal }).then(({ items }) => items),
  });
  if (data === undefined || data.length === 0) return null;
  return (
    <section className="card stack" aria-labelledby="relations">
      <h2 id="relations">Relations</h2>
      <RelationGraph task={task} relations={data} />
      <ul className="stack">
        {data.slice(0, shownMax).map(({ id, type, fromTaskId, toTaskId }) => {
          const isFrom = fromTaskId === task.id;
          return (
            <li key={id}>
              <span className="soft">{words[type][isFrom ? 0 : 1]}</span>{' '}
              <Other id={isFrom ? toTaskId : fromTaskId} />
            </li>
          );
        })}
      </ul>
      {data.length > shownMax && <p className="soft">Only the first {shownMax} are shown.</p>}
    </section>
  );
}

function Other({ id }: { id: string }) {
  const { data } = useQuery(taskQuery(id));
  if (data === undefined) return <span className="soft">Hidden task</span>;
  return (
    <span className={styles.other}>
      <Link to="/tasks/$ref" params={{ ref: data.publicId }}>
        {data.title}
      </Link>{' '}
      <Status task={data} />
    </span>
  );
}
