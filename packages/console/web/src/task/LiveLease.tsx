import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { Avatar } from '../parts/Avatar.tsx';
import { Countdown, Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { claimQuery } from './claim-query.ts';
import { Hold } from './Hold.tsx';
import { useHold, useLoss } from './use-holds.tsx';

/** The holder and the remaining lease, on one line for the page header. Hidden for an unclaimed task. */
export function HeldBy({ task }: { readonly task: Task }) {
  const { data } = useQuery(claimQuery(task));
  if (task.activeClaimId === null || data === undefined) return null;
  return (
    <span>
      <span className="soft">Held by</span> <Avatar id={data.holderId} /> <Who id={data.holderId} />{' '}
      <span className="soft">
        for <Countdown to={data.expiresAt} />
      </span>
    </span>
  );
}

/** The holder of the task and the expiry of the claim; for the holder also the actions that end it. */
export function LiveLease({ task }: { task: Task }) {
  const { activeClaimId } = task;
  const claim = useQuery(claimQuery(task));
  const hold = useHold(task.id);
  const loss = useLoss(task.id);
  // The draft is kept here: between the end of the claim and its detection, neither the holder's actions nor the loss
  // are shown.
  const [result, setResult] = useState('');
  const isEnded = task.systemStatusCategory.startsWith('terminal');
  const isOwn = hold !== undefined || loss !== undefined || result !== '';
  if (isEnded && activeClaimId === null && !isOwn) return null;
  return (
    <section className="card stack" aria-labelledby="lease">
      <h2 id="lease">{hold === undefined ? 'Holder' : 'You hold this task'}</h2>
      {activeClaimId === null && <p className="soft">Unclaimed.</p>}
      {claim.isError && claim.data === undefined && <ErrorNote error={claim.error} />}
      {activeClaimId !== null && claim.data !== undefined && (
        <>
          <p>
            <Avatar id={claim.data.holderId} /> <Who id={claim.data.holderId} />{' '}
            <span className="soft">claimed</span> <Moment at={claim.data.acquiredAt} />
          </p>
          {claim.data.intent !== '' && <p className="text">{claim.data.intent}</p>}
          <p className="soft">
            {hold !== undefined && 'This page renews the lease while it is open. '}The lease expires in{' '}
            <Countdown to={claim.data.expiresAt} /> unless renewed; last heartbeat{' '}
            <Moment at={claim.data.heartbeatAt} />. Fencing token {claim.data.fencingToken}.
          </p>
        </>
      )}
      {isOwn && <Hold task={task} hold={hold} loss={loss} result={result} setResult={setResult} />}
    </section>
  );
}
