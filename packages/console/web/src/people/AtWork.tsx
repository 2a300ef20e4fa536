import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Claim, Run } from '@baton/sdk';
import { baton } from '../client.ts';
import { Countdown, Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import { endReasons } from '../task/lease-ends.ts';
import { type Activity, heldTaskQuery, isSilent } from './activity.ts';
import { Disable } from './Disable.tsx';
import styles from './people.module.css';

/** A principal with its sessions and claims, and the actions that an operator can perform. */
export function AtWork({
  activity,
  stalled,
  now,
}: {
  activity: Activity;
  stalled: ReadonlySet<string>;
  now: number;
}) {
  const { principalId, sessions, held } = activity;
  const permissions = useQuery(meQuery).data?.permissions ?? [];
  const [isConfirming, setConfirming] = useState(false);
  return (
    <li className={`card stack ${styles.agent}`}>
      <div className={styles.top}>
        <h2>
          <Who id={principalId} />
        </h2>
        {permissions.includes('principals.write') && (
          <button type="button" onClick={() => setConfirming(true)}>
            Disable
          </button>
        )}
      </div>
      {isConfirming && <Disable activity={activity} onClose={() => setConfirming(false)} />}
      <ul className="stack">
        {sessions.map((session) => {
          const isUnresponsive = isSilent(session, now);
          return (
            <li key={session.id} className={styles.session}>
              <span className={styles.name} title={session.clientName}>
                {session.clientName} <span className="soft">{session.clientVersion}</span>
              </span>
              <span className={isUnresponsive ? styles.silent : 'soft'}>
                {isUnresponsive ? 'Unresponsive, last heartbeat' : 'Last heartbeat'}{' '}
                <Moment at={session.heartbeatAt} />
              </span>
              <span className="soft">
                Session expires in <Countdown to={session.expiresAt} /> unless renewed
              </span>
            </li>
          );
        })}
        {sessions.length === 0 && <li className="soft">No open sessions.</li>}
      </ul>
      {held.length === 0 ? (
        <p className="soft">No claimed tasks.</p>
      ) : (
        <ul className="stack" aria-label="Claimed tasks">
          {held.map(({ claim, run }) => (
            <Held
              key={claim.id}
              claim={claim}
              run={run}
              isStuck={run !== undefined && stalled.has(run.id)}
              mayManage={permissions.includes('claims.manage')}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

function Held({
  claim,
  run,
  isStuck,
  mayManage,
}: {
  claim: Claim;
  run: Run | undefined;
  isStuck: boolean;
  mayManage: boolean;
}) {
  const queries = useQueryClient();
  const { data: task } = useQuery(heldTaskQuery(claim.taskId));
  const act = useMutation({
    mutationFn: (what: 'cancel' | 'end'): Promise<unknown> =>
      what === 'cancel' && run !== undefined
        ? baton.runs.requestCancel(run.id, { reason: 'requested in the console' })
        : baton.claims.release(claim.id, { reason: endReasons.ended }),
    onSettled: () => {
      for (const key of ['people', 'tasks']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <li className={styles.held}>
      <span className={styles.name} title={task?.title}>
        {task === undefined ? (
          <span className="soft">Hidden task</span>
        ) : (
          <Link to="/tasks/$ref" params={{ ref: task.publicId }}>
            {task.title}
          </Link>
        )}
      </span>
      <span className="soft">
        Lease expires in <Countdown to={claim.expiresAt} /> unless renewed
      </span>
      {run !== undefined && (
        <span className={isStuck ? styles.silent : 'soft'}>
          {isStuck ? 'Stalled, last progress' : 'Last progress'} <Moment at={run.lastProgressAt} />
          {run.cancelRequestedAt !== null && ' · cancellation requested'}
        </span>
      )}
      {mayManage && (
        <span className="row">
          {run !== undefined && run.cancelRequestedAt === null && (
            <button type="button" disabled={act.isPending} onClick={() => act.mutate('cancel')}>
              Request cancellation
            </button>
          )}
          <button type="button" disabled={act.isPending} onClick={() => act.mutate('end')}>
            Release claim
          </button>
        </span>
      )}
      {act.isError && <ErrorNote error={act.error} />}
    </li>
  );
}
