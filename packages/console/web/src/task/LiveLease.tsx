import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Countdown, Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { Hold } from './Hold.tsx';
import { useHold, useLoss } from './use-holds.tsx';

/** Who holds the task now, and for how long if nothing more is heard; for the holder also how to end it. */
export function LiveLease({ task }: { task: Task }) {
  const { activeClaimId } = task;
  const claim = useQuery({
    queryKey: ['tasks', 'claim', activeClaimId],
    queryFn: ({ signal }) => baton.claims.get(activeClaimId ?? '', { signal }),
    enabled: activeClaimId !== null,
    // Heartbeats write no event; the lease is read again before it would seem to end.
    refetchInterval: 10_000,
  });
  const hold = useHold(task.id);
  const loss = useLoss(task.id);
  // Kept here: between the end of the lease and the news of its loss there is neither.
  const [words, setWords] = useState('');
  return (
    <section className="card stack" aria-labelledby="lease">
      <h2 id="lease">{hold === undefined ? 'Held by' : 'You hold it'}</h2>
      {activeClaimId === null && <p className="soft">Nobody holds it.</p>}
      {claim.isError && claim.data === undefined && <ErrorNote error={claim.error} />}
      {activeClaimId !== null && claim.data !== undefined && (
        <>
          <p>
            <Who id={claim.data.holderId} /> <span className="soft">since</span>{' '}
            <Moment at={claim.data.acquiredAt} />
          </p>
          {claim.data.intent !== '' && <p className="text">{claim.data.intent}</p>}
          <p className="soft">
            {hold !== undefined && 'This page keeps it while it is open. '}The lease ends in{' '}
            <Countdown to={claim.data.expiresAt} /> unless it is kept; last sign of life{' '}
            <Moment at={claim.data.heartbeatAt} />. Fencing token {claim.data.fencingToken}.
          </p>
        </>
      )}
      {(hold !== undefined || loss !== undefined || words !== '') && (
        <Hold task={task} hold={hold} loss={loss} words={words} setWords={setWords} />
      )}
    </section>
  );
}
