import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ProjectDependencies } from '@baton/sdk';
import { baton } from '../client.ts';
import { useLiveFigures } from '../live-figures.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import styles from './dependencies.module.css';
import { placeTasks } from './dependency-layout.ts';

/** Types of events that may change a dependency, or a task in the graph. */
const counted = /^task\./;
/** With more tasks, the graph would be illegible. The table lists all of them. */
const drawnMax = 60;
const box = { width: 168, height: 44, across: 56, down: 14 };

/** The dependencies between the tasks of a project, as a graph with the critical path and as a table. */
export function Dependencies({ projectId }: { projectId: string }) {
  const mayRead = useQuery(meQuery).data?.permissions.includes('tasks.read') ?? false;
  const query = useQuery({
    // Not below `tasks`: each event of any task would read the dependencies of all subprojects again.
    queryKey: ['dependencies', projectId],
    queryFn: ({ signal }) =>
      baton.projects.getDependencies(projectId, { includeSubprojects: true }, { signal }),
    enabled: mayRead,
    refetchOnMount: 'always',
  });
  useLiveFigures('dependencies', counted);
  const [isChosen, setChosen] = useState(false);
  if (!mayRead || query.data?.tasks.length === 0) return null;
  const isLarge = (query.data?.tasks.length ?? 0) > drawnMax;
  const isTable = isChosen || isLarge;
  return (
    <section className="card stack" aria-labelledby="dependencies">
      <header className={styles.head}>
        <h2 id="dependencies">Dependencies</h2>
        {query.data !== undefined && !isLarge && (
          <button type="button" aria-pressed={isTable} onClick={() => setChosen(!isChosen)}>
            Show as table
          </button>
        )}
      </header>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={3} />}
      {query.data !== undefined && (
        <>
          {query.data.criticalPath.length > 0 && (
            <p className="soft">
              {query.data.criticalPath.length} unfinished tasks have to be done one after another: the
              critical path.
            </p>
          )}
          {query.data.isTruncated && <p className="soft">Only the newest 2,000 dependencies are shown.</p>}
          {!isTable && <Graph of={query.data} />}
          <div
            className={isTable ? styles.scroll : 'visually-hidden'}
            {...(isTable && { role: 'region', 'aria-label': 'Dependencies as a table', tabIndex: 0 })}
          >
            <Table of={query.data} isShown={isTable} />
          </div>
        </>
      )}
    </section>
  );
}

function Graph({ of }: { of: ProjectDependencies }) {
  const placed = placeTasks(of);
  const places = new Map(placed.map((one) => [one.task.id, one]));
  const steps = new Map(of.criticalPath.map((id, n) => [id, n]));
  const leftOf = (column: number) => column * (box.width + box.across);
  const topOf = (row: number) => row * (box.height + box.down);
  const width = leftOf(Math.max(...placed.map(({ column }) => column))) + box.width;
  const height = topOf(Math.max(...placed.map(({ row }) => row))) + box.height;
  return (
    <div className={styles.scroll} role="region" aria-label="Graph of the dependencies" tabIndex={0}>
      <div className={styles.graph} style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true">
          {of.dependencies.map(({ relationId, prerequisiteTaskId, waitingTaskId }) => {
            const [from, to] = [places.get(prerequisiteTaskId), places.get(waitingTaskId)];
            if (from === undefined || to === undefined) return null;
            const [x1, y1] = [leftOf(from.column) + box.width, topOf(from.row) + box.height / 2];
            const [x2, y2] = [leftOf(to.column), topOf(to.row) + box.height / 2];
            const step = steps.get(prerequisiteTaskId);
            const isCritical = step !== undefined && steps.get(waitingTaskId) === step + 1;
            const bend = box.across / 2;
            return (
              <path
                key={relationId}
                d={`M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
                className={isCritical ? styles.critical : styles.edge}
              />
            );
          })}
        </svg>
        {placed.map(({ task, column, row }) => (
          <Link
            key={task.id}
            to="/tasks/$ref"
            params={{ ref: task.publicId }}
            className={`${styles.task} ${steps.has(task.id) ? styles.onPath : ''} ${
              task.systemStatusCategory === 'terminal_success' ? styles.done : ''
            }`}
            style={{ left: leftOf(column), top: topOf(row), width: box.width, height: box.height }}
            title={task.title}
            aria-label={`${task.publicId} ${task.title}, ${stateOf(task)}${
              steps.has(task.id) ? ', on the critical path' : ''
            }`}
          >
            <span className={styles.id}>
              {task.publicId} · {stateOf(task)}
            </span>
            <span className={styles.title}>{task.title}</span>
          </Link>
        ))}
      </div>
    </div>
  );
}

const stateOf = ({ status }: ProjectDependencies['tasks'][number]): string => status.replaceAll('_', ' ');

/** @param isShown whether the table has links; a hidden table has none, because they would be focusable */
function Table({ of, isShown }: { of: ProjectDependencies; isShown: boolean }) {
  const idOf = new Map(of.tasks.map(({ id, publicId }) => [id, publicId]));
  const prerequisites = Map.groupBy(of.dependencies, ({ waitingTaskId }) => waitingTaskId);
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">Dependencies</caption>
      <thead>
        <tr>
          <th scope="col">Task</th>
          <th scope="col">Status</th>
          <th scope="col">Waits for</th>
          <th scope="col">Critical path</th>
        </tr>
      </thead>
      <tbody>
        {of.tasks.map((task) => (
          <tr key={task.id}>
            <th scope="row">
              {isShown ? (
                <Link to="/tasks/$ref" params={{ ref: task.publicId }}>
                  {task.publicId} {task.title}
                </Link>
              ) : (
                `${task.publicId} ${task.title}`
              )}
            </th>
            <td>{stateOf(task)}</td>
            <td>
              {(prerequisites.get(task.id) ?? [])
                .map(({ prerequisiteTaskId }) => idOf.get(prerequisiteTaskId))
                .join(', ')}
            </td>
            <td>{of.criticalPath.includes(task.id) ? 'yes' : ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
