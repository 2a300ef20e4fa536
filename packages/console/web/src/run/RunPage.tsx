import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type Run, revealHidden } from '@baton/sdk';
import { ArtifactItem } from '../artifact/ArtifactItem.tsx';
import { Avatar } from '../parts/Avatar.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Values } from '../parts/Values.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import { Links, Output } from '../task/result/Result.tsx';
import { artifactsQuery } from '../task/result/result-queries.ts';
import { Agent } from './Agent.tsx';
import { Attempts } from './Attempts.tsx';
import { Controls } from './Controls.tsx';
import { RunFigures } from './RunFigures.tsx';
import { linksOf, summaryOf } from './result-facts.ts';
import styles from './run.module.css';
import { runQuery } from './run-queries.ts';
import { Timeline } from './Timeline.tsx';

const route = getRouteApi('/shell/runs/$id');

/** One attempt at a task: its input, timeline and result, and the controls for its agent. */
export function RunPage() {
  const { id } = route.useParams();
  const query = useQuery(runQuery(id));
  const task = useQuery({ ...taskQuery(query.data?.taskId ?? ''), enabled: query.data !== undefined }).data;
  useTitle(query.data && `Attempt ${query.data.attempt}${task ? ` at ${task.publicId} ${task.title}` : ''}`);
  if (query.isError && query.data === undefined)
    return (
      <div className="page">
        <ErrorNote error={query.error} onRetry={() => void query.refetch()} />
        <Link to="/">Back to Work</Link>
      </div>
    );
  if (query.isPending)
    return (
      <div className="page">
        <Loading lines={6} />
      </div>
    );
  const run = query.data;
  return (
    <article className="page">
      <header className={styles.head}>
        <p className="row soft">
          <Link to="/">Work</Link>
          <Link to="/tasks/$ref" params={{ ref: task?.publicId ?? run.taskId }}>
            {task === undefined ? 'Task' : task.publicId}
          </Link>
        </p>
        <h1 className="text">
          Attempt {run.attempt}
          {task !== undefined && <span className={styles.of}> at {task.title}</span>}
        </h1>
        <p className="row">
          <span className={`${styles.status} ${styles[run.status]}`}>{run.status}</span>
          <span className={styles.by}>
            <Avatar id={run.principalId} /> <Who id={run.principalId} />
          </span>
          <span className="soft">
            started <Moment at={run.startedAt} />
          </span>
          {run.finishedAt !== null && (
            <span className="soft">
              ended <Moment at={run.finishedAt} />
            </span>
          )}
          {run.cancelRequestedAt !== null && run.status === 'running' && (
            <span className={styles.stopping}>
              stop requested <Moment at={run.cancelRequestedAt} />
            </span>
          )}
        </p>
        <Controls run={run} />
      </header>
      <RunFigures run={run} />
      <div className={styles.columns}>
        <div className="stack">
          <RunResult run={run} />
          <Timeline run={run} />
        </div>
        <aside className="stack" aria-label="About this attempt">
          <Attempts run={run} />
          <Agent run={run} />
          <Input run={run} />
        </aside>
      </div>
    </article>
  );
}

/** The result, or the failure reason in full, and the artifacts of this attempt. */
function RunResult({ run }: { readonly run: Run }) {
  const artifacts = useQuery(artifactsQuery({ runId: run.id })).data ?? [];
  const summary = summaryOf(run.output);
  const links = linksOf(run.output);
  const isEmpty = run.output === null && run.failureReason === null && artifacts.length === 0;
  if (isEmpty) return null;
  return (
    <section className="card stack" aria-labelledby="result">
      <h2 id="result">
        {run.failureReason === null ? 'Result' : run.status === 'cancelled' ? 'Stopped' : 'Failure'}
      </h2>
      {run.failureReason !== null && (
        <p className={`text ${styles.failure}`}>{revealHidden(run.failureReason)}</p>
      )}
      {summary !== undefined && <Prose text={revealHidden(summary)} />}
      {links.length > 0 && <Links links={links} />}
      <Output run={run} />
      {artifacts.length > 0 && (
        <>
          <h3>Artifacts</h3>
          <ul>
            {artifacts.map((artifact) => (
              <li key={artifact.id}>
                <ArtifactItem artifact={artifact} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** The input that the harness gave the agent when the attempt started. */
function Input({ run: { input } }: { readonly run: Run }) {
  if (input === null || Object.keys(input).length === 0) return null;
  return (
    <section className="card stack" aria-labelledby="input">
      <h2 id="input">Input</h2>
      <Values of={input} isWhole />
    </section>
  );
}
