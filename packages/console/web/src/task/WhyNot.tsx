import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { Instant, Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { taskQuery } from '../queries.ts';
import { claimabilityQuery } from './claimability.ts';
import { actOf, adviceOf, approvalOf, type Remedy, reasonOf } from './remedies.ts';
import styles from './task.module.css';
import { useHold } from './use-holds.tsx';
import { WhyBlocked } from './WhyBlocked.tsx';

/** An instant from here on means that no time releases the task. */
const untilReleased = '9999';

/** Everything that stands between the task and whoever would take it, each with the act that removes it. */
export function WhyNot({ task }: { task: Task }) {
  const isOver = task.systemStatusCategory.startsWith('terminal');
  const isBlocked = task.systemStatusCategory === 'blocked';
  const isOwn = useHold(task.id) !== undefined;
  const { data } = useQuery(claimabilityQuery(task));
  if (isOver || isOwn || data === undefined) return null;
  return (
    <section className="card stack" aria-labelledby="why">
      <h2 id="why">
        {data.claimable ? 'Ready to be taken' : isBlocked ? 'Blocked' : 'Why is this not moving?'}
      </h2>
      {data.claimable && (
        <p className="soft">
          Whoever may work on it can take it now
          {task.assigneeId !== null && ', though only its assignee is offered it'}.
        </p>
      )}
      {isBlocked && <WhyBlocked task={task} />}
      <ul className="stack" hidden={data.reasons.length === 0}>
        {data.reasons.map(({ code, since, remedies, ...details }) => (
          <li key={code} className="stack">
            <p>
              {code === 'not_before' ? <NotBefore at={task.availableAt} /> : reasonOf(code, details)}{' '}
              <span className="soft mono" title="The code of this reason">
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
                    {actOf(remedy)?.words ?? adviceOf(remedy)} (needs {permission})
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

/** Until when nobody is offered the task. */
function NotBefore({ at }: { readonly at: string | null }) {
  if (at === null) return 'It is not offered yet.';
  if (at >= untilReleased)
    return 'All attempts have failed: it is held back until somebody makes it available.';
  return (
    <>
      It is not offered before <Instant at={at} /> (<Moment at={at} />
      ).
    </>
  );
}

/** One act: by a click, by a second one where it takes something from somebody, or in words. */
function Unblock({ remedy }: { remedy: Remedy }) {
  const queries = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  const act = actOf(remedy);
  const other = useOther(remedy);
  const unblock = useMutation({
    mutationFn: () => act?.run() ?? Promise.resolve(),
    onSettled: () => {
      setAsked(false);
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
  if (!isAsked)
    return (
      <>
        <button
          type="button"
          className={styles.unblock}
          disabled={unblock.isPending}
          onClick={() => (act.question === undefined ? unblock.mutate() : setAsked(true))}
        >
          {name}
        </button>
        {unblock.isError && <ErrorNote error={unblock.error} />}
      </>
    );
  return (
    <div className="stack" role="group" aria-label={name}>
      <p>{act.question}</p>
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
        <button type="button" onClick={() => setAsked(false)}>
          Leave it
        </button>
      </div>
    </div>
  );
}

/** The public id of the task that a remedy is about, where that is another one. */
function useOther({ act, path }: Remedy): string | undefined {
  const [, id = ''] = /^\/tasks\/([\da-f-]{36}):complete$/.exec(path) ?? [];
  const { data } = useQuery({ ...taskQuery(id), enabled: act === 'complete_prerequisite' && id !== '' });
  return data?.publicId;
}
