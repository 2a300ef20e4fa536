import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { Avatar } from '../parts/Avatar.tsx';
import { Priority, Status } from '../parts/Category.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import { useKeys } from '../shell/keys.ts';
import { useTitle } from '../shell/title.ts';
import { AssigneeNote } from './AssigneeNote.tsx';
import { Activity } from './activity/Activity.tsx';
import { ClaimabilityReasons } from './ClaimabilityReasons.tsx';
import { ClaimButton } from './ClaimButton.tsx';
import { Checks } from './checks/Checks.tsx';
import { Facts } from './Facts.tsx';
import { HeldBy, LiveLease } from './LiveLease.tsx';
import { Moves } from './Moves.tsx';
import { Relations } from './Relations.tsx';
import { Runs } from './Runs.tsx';
import { Result } from './result/Result.tsx';
import { StepForm } from './step-form/StepForm.tsx';
import styles from './task.module.css';

const EditTask = lazy(() => import('./EditTask.tsx'));
const route = getRouteApi('/shell/tasks/$ref');

/** A task: its description, its holder, its result, its checks and its activity. */
export function TaskPage() {
  const { ref } = route.useParams();
  const query = useQuery(taskQuery(ref));
  const [editing, setEditing] = useState<'title' | 'assignee'>();
  useKeys({ e: () => setEditing('title'), a: () => setEditing('assignee') });
  useTitle(query.data && `${query.data.publicId} ${query.data.title}`);
  // Loaded data stays on the page, with the input in its forms. A banner above it reports that Baton is unreachable.
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
  const task = query.data;
  return (
    <article className="page">
      <header className={styles.head}>
        <p className="row soft">
          <Link to="/">Work</Link> <span className="mono">{task.publicId}</span> <span>{task.typeKey}</span>
        </p>
        <h1 className="text">{task.title}</h1>
        <p className="row">
          <Status task={task} />
          <Priority priority={task.priority} />
          <span>
            {task.assigneeId !== null && (
              <>
                <span className="soft">Assignee </span>
                <Avatar id={task.assigneeId} />{' '}
              </>
            )}
            <Who id={task.assigneeId} nobody="Unassigned" />
          </span>
          <HeldBy task={task} />
          <span className="soft">
            updated <Moment at={task.updatedAt} />
          </span>
        </p>
        <AssigneeNote task={task} />
        <div className={styles.acts}>
          <ClaimButton task={task} />
          <Moves task={task} />
          <button type="button" aria-keyshortcuts="e" onClick={() => setEditing('title')}>
            Edit
          </button>
          <button type="button" aria-keyshortcuts="a" onClick={() => setEditing('assignee')}>
            Assign …
          </button>
        </div>
        <Suspense>
          {editing !== undefined && (
            <EditTask task={task} first={editing} onClose={() => setEditing(undefined)} />
          )}
        </Suspense>
      </header>
      <div className={styles.columns}>
        <div className={`stack ${styles.what}`}>
          <section className="card stack" aria-labelledby="what">
            <h2 id="what">Description</h2>
            {task.description === '' ? (
              <p className="soft">No description.</p>
            ) : (
              <Prose text={task.description} task={task} />
            )}
          </section>
          <StepForm task={task} />
          <Result task={task} />
        </div>
        <aside className={`stack ${styles.state}`} aria-label="Task state">
          <LiveLease key={task.id} task={task} />
          <ClaimabilityReasons task={task} />
          <Runs task={task} />
          <Relations task={task} />
          <Facts task={task} />
        </aside>
        <div className={`stack ${styles.rest}`}>
          <Checks task={task} />
          <Activity key={task.id} task={task} />
        </div>
      </div>
    </article>
  );
}
