import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { Instant, Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { taskQuery } from '../queries.ts';
import { BlockedReason } from './BlockedReason.tsx';
import { claimabilityQuery } from './claimability.ts';
import { actOf, adviceOf, approvalOf, describeReason, type Remedy } from './remedies.ts';
import styles from './task.module.css';
import { useHold } from './use-holds.tsx';

/** An instant in this year or later means that the task becomes available only when it is released explicitly. */
const untilReleased = '9999';

/** Everything that prevents the task from being claimed, each with its remedies. */
export function ClaimabilityReasons({ task }: { task: Task }) {
  const isEnded = task.systemStatusCategory.startsWith('terminal');
  const isBlocked = task.systemStatusCategory === 'blocked';
  const isOwn = useHold(task.id) !== undefined;
  const { data } = useQuery(claimabilityQuery(task));
  if (isEnded || isOwn || data === undefined) return null;
  return (
    <section className="card stack" aria-labelledby="why">
      <h2 id="why">{data.claimable ? 'Ready to claim' : isBlocked ? 'Blocked' : 'Not claimable yet'}</h2>
      {data.claimable && (
        <p className="soft">
          Every eligible principal can claim it now
          {task.assigneeId !== null && ', although Baton offers it to its assignee only'}.
        </p>
      )}
      {isBlocked && <BlockedReason task={task} />}
      <ul className="stack" hidden={data.reasons.length === 0}>
        {data.reasons.map(({ code, since, remedies, ...details }) => (
          <li key={code} className="stack">
            <p>
              {code === 'not_before' ? <NotBefore at={task.availableAt} /> : describeReason(code, details)}{' '}
              <span className="soft mono" title="Reason code">
                {code}
              </span>
              {since !== null && (
                <span className="soft">
                  {' '}
                  <Moment at={since} />
                </span>
              )}
            </p>
            <div className={`stack ${styles.remedy}`}>
              {remedies.map(({ allowed, permission, ...remedy }) =>
                allowed ? (
                  <Unblock key={remedy.act + remedy.path} remedy={remedy} />
                ) : (
                  <p key={remedy.act + remedy.path} className="soft">
                    {actOf(remedy)?.words ?? adviceOf(remedy)} (requires {permission})
                  </p>
                ),
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** When the task becomes available. */
function NotBefore({ at }: { readonly at: string | null }) {
  if (at === null) return 'The task is not available yet.';
  if (at >= untilReleased)
    return 'All attempts have failed. The task is on hold until somebody makes it available.';
  return (
    <>
      Available from <Instant at={at} /> (<Moment at={at} />
      ).
    </>
  );
}

/** A remedy: a button, with a confirmation if it affects somebody else, or advice. */
function Unblock({ remedy }: { remedy: Remedy }) {
  const queries = useQueryClient();
  const [isConfirming, setConfirming] = useState(false);
  const act = actOf(remedy);
  const other = useOther(remedy);
  const unblock = useMutation({
    mutationFn: () => act?.run() ?? Promise.resolve(),
    onSettled: () => {
      setConfirming(false);
      for (const key of ['tasks', 'approvals', 'me']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  const approvalId = approvalOf(remedy);
  if (approvalId !== undefined)
    return (
      <Link to="/approvals/$id" params={{ id: approvalId }} className={`button ${styles.unblock}`}>
        Review and decide
      </Link>
    );
  if (act === undefined) return <p className="soft">{adviceOf(remedy)}</p>;
  const name = other === undefined ? act.words : `${act.words}: ${other}`;
  if (!isConfirming)
    return (
      <>
        <button
          type="button"
          className={styles.unblock}
          disabled={unblock.isPending}
          onClick={() => (act.confirmation === undefined ? unblock.mutate() : setConfirming(true))}
        >
          {name}
        </button>
        {unblock.isError && <ErrorNote error={unblock.error} />}
      </>
    );
  return (
    <div className="stack" role="group" aria-label={name}>
      <p>{act.confirmation}</p>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={unblock.isPending}
          onClick={() => unblock.mutate()}
          autoFocus
        >
          {act.words}
        </button>
        <button type="button" onClick={() => setConfirming(false)}>
          Cancel
        </button>
      </div>
    </div>
  );
}

/** The public id of the other task that a remedy applies to, if any. */
function useOther({ act, path }: Remedy): string | undefined {
  const [, id = ''] = /^\/tasks\/([\da-f-]{36}):complete$/.exec(path) ?? [];
  const { data } = useQuery({ ...taskQuery(id), enabled: act === 'complete_prerequisite' && id !== '' });
  return data?.publicId;
}
