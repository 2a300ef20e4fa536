import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Run } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import { runsMax, runsQuery } from '../task/runs.ts';
import styles from './run.module.css';

/** All attempts at the task, newest first, with this one marked. Hidden if there is only one. */
export function Attempts({ run }: { readonly run: Run }) {
  const { data: runs = [] } = useQuery(runsQuery({ id: run.taskId }));
  if (runs.length < 2) return null;
  return (
    <section className="card stack" aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      <ol className={styles.attempts}>
        {runs.map(({ id, attempt, status, principalId, startedAt }) => (
          <li key={id}>
            <Link
              to="/runs/$id"
              params={{ id }}
              className={styles.attempt}
              aria-current={id === run.id ? 'page' : undefined}
            >
              <span>
                {attempt}. <Who id={principalId} />
              </span>
              <span className={styles[status]}>{status}</span>
              <span className="soft">
                <Moment at={startedAt} />
              </span>
            </Link>
          </li>
        ))}
      </ol>
      {runs.length === runsMax && <p className="soft">Only the newest {runsMax} are shown.</p>}
    </section>
  );
}
