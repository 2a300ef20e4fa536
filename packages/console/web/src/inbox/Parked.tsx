import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { HarnessContext, Run } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import styles from './inbox.module.css';

const shownMax = 20;

/**
 * What stands still: runs that were suspended and that nobody has gone on with, and suspended processes. A run that waits
 * for this person's decision stands above already.
 */
export function Parked({ me }: { me: HarnessContext }) {
  const may = (permission: string) => me.permissions.includes(permission) || me.permissions.includes('admin');
  const runs = useQuery({
    queryKey: ['tasks', 'suspended'],
    queryFn: ({ signal }) =>
      baton.runs
        .list({ status: 'suspended', limit: 50 }, { signal })
        .then(({ items }) => newestOfTasks(items)),
    enabled: may('tasks.read'),
  });
  const processes = useQuery({
    queryKey: ['processes', 'suspended'],
    queryFn: ({ signal }) =>
      baton.processInstances
        .list({ status: 'suspended', limit: shownMax }, { signal })
        .then(({ items }) => items),
    enabled: may('processes.read'),
  });
  const suspended = (runs.data ?? []).slice(0, shownMax);
  const tasks = useQueries({ queries: suspended.map(({ taskId }) => taskQuery(taskId)) });
  const waiting = new Set(me.pendingApprovals.map(({ taskId }) => taskId));
  const still = suspended.flatMap((run, index) => {
    const task = tasks[index]?.data;
    const isStill =
      task?.activeClaimId === null &&
      !task.systemStatusCategory.startsWith('terminal') &&
      !waiting.has(task.id);
    return isStill ? [{ run, task }] : [];
  });
  if (still.length === 0 && !processes.data?.length) return null;
  return (
    <section className={styles.section} aria-labelledby="parked">
      <h2 id="parked">Parked</h2>
      <ul className="stack">
        {still.map(({ run, task }) => (
          <li key={run.id} className="card stack">
            <p className="row">
              <span className="mono soft">{task.publicId}</span>
              <Link to="/tasks/$ref" params={{ ref: task.publicId }} className={styles.title}>
                {task.title}
              </Link>
            </p>
            <p className="soft">
              <Who id={run.principalId} /> suspended attempt {run.attempt}{' '}
              <Moment at={run.finishedAt ?? run.updatedAt} />
              {reasonIn(run)}. Whoever takes the task goes on from its last checkpoint.
            </p>
          </li>
        ))}
        {processes.data?.map(({ id, definitionKey, instanceKey, updatedAt }) => (
          <li key={id} className="card stack">
            <p>
              <Link to="/processes/$id" params={{ id }} className={styles.title}>
                {definitionKey} {instanceKey}
              </Link>
            </p>
            <p className="soft">
              This process is suspended, <Moment at={updatedAt} />. Resume or cancel it on its page.
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Runs come newest first: an older one of the same task was gone on with. */
function newestOfTasks(runs: readonly Run[]): Run[] {
  return [...new Map(runs.toReversed().map((run) => [run.taskId, run])).values()].reverse();
}

function reasonIn({ metadata }: Run): string {
  const { suspendReason } = metadata;
  return typeof suspendReason === 'string' ? ` (${suspendReason.replaceAll('_', ' ')})` : '';
}
