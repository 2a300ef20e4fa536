import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Countdown, Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { Hold } from './Hold.tsx';
import { useHold, useLoss } from './use-holds.tsx';

/** The holder of the task and the expiry of the claim; for the holder also the actions that end it. */
export function LiveLease({ task }: { task: Task }) {
  const { activeClaimId } = task;
  const claim = useQuery({
    queryKey: ['tasks', 'claim', activeClaimId],
    queryFn: ({ signal }) => baton.claims.get(activeClaimId ?? '', { signal }),
    enabled: activeClaimId !== null,
    // Heartbeats write no events, so the claim is polled before its lease would appear to expire.
    refetchInterval: 10_000,
  });
  const hold = useHold(task.id);
  const loss = useLoss(task.id);
  // The draft is kept here: between the end of the claim and its detection, neither the holder's actions nor the loss
  // are shown.
  const [result, setResult] = useState('');
  return (
    <section className="card stack" aria-labelledby="lease">
      <h2 id="lease">{hold === undefined ? 'Holder' : 'You hold this task'}</h2>
      {activeClaimId === null && <p className="soft">Unclaimed.</p>}
      {claim.isError && claim.data === undefined && <ErrorNote error={claim.error} />}
      {activeClaimId !== null && claim.data !== undefined && (
        <>
          <p>
            <Who id={claim.data.holderId} /> <span className="soft">claimed</span>{' '}
            <Moment at={claim.data.acquiredAt} />
          </p>
          {claim.data.intent !== '' && <p className="text">{claim.data.intent}</p>}
          <p className="soft">
            {hold !== undefined && 'This page renews the lease while it is open. '}The lease expires in{' '}
            <Countdown to={claim.data.expiresAt} /> unless renewed; last heartbeat{' '}
            <Moment at={claim.data.heartbeatAt} />. Fencing token {claim.data.fencingToken}.
          </p>
        </>
      )}
      {(hold !== undefined || loss !== undefined || result !== '') && (
        <Hold task={task} hold={hold} loss={loss} result={result} setResult={setResult} />
      )}
    </section>
  );
}
