import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Task } from '@baton/sdk';
import { Avatar } from '../parts/Avatar.tsx';
import { costs, duration } from '../parts/amounts.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Who } from '../parts/Who.tsx';
import { runMs } from '../run/result-facts.ts';
import { runsMax, runsQuery } from './runs.ts';
import styles from './task.module.css';

/** The attempts at the task, newest first, each with a link to its page. */
export function Runs({ task }: { task: Task }) {
  const runs = useQuery(runsQuery(task));
  if (runs.isError && runs.data === undefined) return <ErrorNote error={runs.error} />;
  if (!runs.data?.length) return null;
  return (
    <section className="card stack" aria-labelledby="runs">
      <h2 id="runs">Attempts</h2>
      <ul className="stack">
        {runs.data.map((run) => (
          <li key={run.id} className={styles.attempt}>
            <Avatar id={run.principalId} />
            <div className={styles.attemptText}>
              <p>
                <Link to="/runs/$id" params={{ id: run.id }}>
                  Attempt {run.attempt}
                </Link>{' '}
                by <Who id={run.principalId} />{' '}
                <span className={styles[run.status] ?? 'soft'}>{run.status}</span>
              </p>
              <p className="soft">
                <Moment at={run.finishedAt ?? run.startedAt} />
                {run.finishedAt !== null && ` · ${duration(runMs(run, 0))}`}
                {costs(run.usage) !== undefined && ` · ${costs(run.usage)}`}
              </p>
              {run.failureReason !== null && (
                <div className={styles.failure}>
                  <Prose text={run.failureReason} task={task} isSoft />
                </div>
              )}
            </div>
          </li>
        ))}
      </ul>
      {runs.data.length === runsMax && <p className="soft">Only the newest {runsMax} are shown.</p>}
    </section>
  );
}
