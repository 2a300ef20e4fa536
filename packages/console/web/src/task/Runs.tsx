import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Values } from '../parts/Values.tsx';
import { Who } from '../parts/Who.tsx';
import { runsMax, runsQuery } from './runs.ts';
import styles from './task.module.css';

const artifactsMax = 20;

/** The attempts at the task, newest first, and their artifacts. */
export function Runs({ task }: { task: Task }) {
  const runs = useQuery(runsQuery(task));
  const artifacts = useQuery({
    queryKey: ['tasks', 'artifacts', task.id],
    queryFn: ({ signal }) =>
      baton.artifacts.list({ taskId: task.id, limit: artifactsMax }, { signal }).then(({ items }) => items),
  });
  const hasRuns = (runs.data?.length ?? 0) > 0;
  const hasArtifacts = (artifacts.data?.length ?? 0) > 0;
  if (runs.isError && runs.data === undefined) return <ErrorNote error={runs.error} />;
  if (!hasRuns && !hasArtifacts) return null;
  return (
    <section className="card stack" aria-labelledby="runs">
      <h2 id="runs">Attempts</h2>
      <ul className="stack">
        {runs.data?.map(({ id, attempt, status, principalId, startedAt, finishedAt, failureReason }) => (
          <li key={id}>
            <p>
              {attempt}. <Who id={principalId} /> <span className={styles[status] ?? 'soft'}>{status}</span>{' '}
              <span className="soft">
                <Moment at={finishedAt ?? startedAt} />
              </span>
            </p>
            {failureReason !== null && <Prose text={failureReason} task={task} isSoft />}
          </li>
        ))}
      </ul>
      {runs.data?.length === runsMax && <p className="soft">Only the newest {runsMax} are shown.</p>}
      {hasArtifacts && (
        <>
          <h3>Artifacts</h3>
          <ul className="stack">
            {artifacts.data?.map(({ id, name, type, createdAt, content, sizeBytes }) => (
              <li key={id}>
                <details className={styles.artifact}>
                  <summary>
                    <span className={styles.other}>{name}</span> <span className="soft">({type})</span>{' '}
                    <span className="soft">
                      <Moment at={createdAt} />
                    </span>
                  </summary>
                  {content !== null && <Values of={content} />}
                  {content === null && (
                    <p className="soft">{sizeBytes === null ? 'No content.' : `${sizeBytes} bytes.`}</p>
                  )}
                </details>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
