import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Approval, revealHidden } from '@baton/sdk';
import { baton } from '../client.ts';
import { Priority, Status } from '../parts/Category.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Values } from '../parts/Values.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import { runsQuery } from '../task/runs.ts';
import styles from './approval.module.css';

/** The fields that the person's own context and the list of approvals share. */
export type Asked = Pick<Approval, 'id' | 'taskId' | 'artifactId' | 'gate' | 'comment' | 'createdAt'> & {
  readonly requestedBy?: string;
  readonly requestedByPrincipalId?: string;
};

const descriptionCharactersMax = 400;
const artifactsMax = 5;

interface RequestProps {
  readonly approval: Asked;
  /** Whether the recorded subject is shown in full next to it, so that the task's own values aren't repeated. */
  readonly isReviewed?: boolean;
}

/** The requester, the comment, the task and artifact, and whether the task is on hold until the decision. */
export function Request({ approval, isReviewed = false }: RequestProps) {
  const { taskId, artifactId, comment, createdAt, gate } = approval;
  const task = useQuery({ ...taskQuery(taskId ?? ''), enabled: taskId !== null }).data;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      {comment === '' ? <p>Approval requested, without a comment.</p> : <Prose text={comment} />}
      <p className="soft">
        <Who id={approval.requestedBy ?? approval.requestedByPrincipalId ?? null} /> ·{' '}
        <Moment at={createdAt} />
        {gate && ' · the task is on hold until it is decided'}
      </p>
      {task !== undefined && (
        <div className={styles.about}>
          <p className="row">
            {isReviewed ? (
              <Link to="/tasks/$ref" params={{ ref: task.publicId }} className="mono">
                {task.publicId}
              </Link>
            ) : (
              <>
                <span className="mono soft">{task.publicId}</span>
                <Link to="/tasks/$ref" params={{ ref: task.publicId }} className={styles.title}>
                  {task.title}
                </Link>
              </>
            )}
            <Status task={task} />
            {!isReviewed && <Priority priority={task.priority} />}
          </p>
          {!isReviewed && task.description !== '' && <Prose text={excerptOf(task.description)} isSoft />}
        </div>
      )}
      {artifactId !== null && <ArtifactOf id={artifactId} />}
      {taskId !== null && (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>Work so far</summary>
          {isOpen && <SoFar taskId={taskId} />}
        </details>
      )}
    </>
  );
}

function excerptOf(text: string): string {
  return text.length > descriptionCharactersMax ? `${text.slice(0, descriptionCharactersMax)} …` : text;
}

/** The artifact to be approved. */
function ArtifactOf({ id }: { readonly id: string }) {
  const { data } = useQuery({
    queryKey: ['artifacts', id],
    queryFn: ({ signal }) => baton.artifacts.get(id, {}, { signal }),
  });
  if (data === undefined) return null;
  return (
    <div className={styles.about}>
      <p className="text">
        {revealHidden(data.name)} <span className="soft">({revealHidden(data.type)})</span>
      </p>
      {data.content !== null && <Values of={data.content} isWhole />}
    </div>
  );
}

/** The last attempt: its status, last checkpoint and artifacts. */
function SoFar({ taskId }: { readonly taskId: string }) {
  const runs = useQuery(runsQuery({ id: taskId }));
  const last = runs.data?.[0];
  const context = useQuery({
    queryKey: ['tasks', 'run-context', last?.id],
    queryFn: ({ signal }) => baton.runs.getContext(last?.id ?? '', { signal }),
    enabled: last !== undefined,
  });
  if (runs.isError || context.isError) return <ErrorNote error={runs.error ?? context.error} />;
  if (runs.data?.length === 0) return <p className="soft">No attempt yet.</p>;
  if (last === undefined || context.data === undefined) return null;
  const checkpoint = context.data.checkpoints.toSorted((one, other) =>
    one.createdAt.localeCompare(other.createdAt),
  )[context.data.checkpoints.length - 1];
  // Agents describe a checkpoint in its member `note`.
  const { note, ...others } = (checkpoint?.data ?? {}) as { readonly note?: unknown };
  const data = typeof note === 'string' ? others : (checkpoint?.data ?? {});
  return (
    <div className={styles.soFar}>
      <p>
        Attempt {last.attempt} of <Who id={last.principalId} />: {last.status}{' '}
        <span className="soft">
          <Moment at={last.finishedAt ?? last.startedAt} />
        </span>
      </p>
      {last.failureReason !== null && <Prose text={last.failureReason} isSoft />}
      {checkpoint !== undefined && (
        <>
          <p className="soft">
            Last checkpoint: {checkpoint.kind} <Moment at={checkpoint.createdAt} />
          </p>
          {typeof note === 'string' && <Prose text={note} />}
          {(typeof note !== 'string' || Object.keys(others).length > 0) && <Values of={data} />}
        </>
      )}
      {context.data.artifacts.slice(0, artifactsMax).map(({ id, name, type }) => (
        <p key={id} className="text">
          {name} <span className="soft">({type})</span>
        </p>
      ))}
    </div>
  );
}
