import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Task, TaskRelation } from '@baton/sdk';
import { baton } from '../client.ts';
import { Status } from '../parts/Category.tsx';
import { taskQuery } from '../queries.ts';
import { RelationGraph } from './RelationGraph.tsx';
import styles from './task.module.css';

/** What a relation means, seen from the task that it begins at and from the one that it leads to. */
const words: Readonly<Record<TaskRelation['type'], readonly [string, string]>> = {
  parent: ['Part of', 'Has the part'],
  blocks: ['Holds back', 'Is held back by'],
  depends_on: ['Waits for', 'Is waited for by'],
  spawned_by: ['Came from', 'Led to'],
  related_to: ['Belongs with', 'Belongs with'],
};
const shownMax = 30;

/** The tasks that this one is tied to, in the words of this one. */
export function Relations({ task }: { task: Task }) {
  const { data } = useQuery({
    queryKey: ['tasks', 'relations', task.id],
    queryFn: ({ signal }) => baton.tasks.listRelations(task.id, { signal }).then(({ items }) => items),
  });
  if (data === undefined || data.length === 0) return null;
  return (
    <section className="card stack" aria-labelledby="relations">
      <h2 id="relations">Tied to</h2>
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
  if (data === undefined) return <span className="soft">a task that you do not see</span>;
  return (
    <span className={styles.other}>
      <Link to="/tasks/$ref" params={{ ref: data.publicId }}>
        {data.title}
      </Link>{' '}
      <Status task={data} />
    </span>
  );
}
