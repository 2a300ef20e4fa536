import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import type { UndeliveredEvent } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import table from '../parts/table.module.css';
import { serverNow } from '../server-clock.ts';

const pageSize = 100;
const undelivered = ['system', 'undelivered'] as const;

function useUndelivered(status: 'dead' | 'pending') {
  return useInfiniteQuery({
    queryKey: [...undelivered, status],
    queryFn: ({ pageParam, signal }) =>
      baton.operations.listUndeliveredEvents(
        { status, limit: pageSize, ...(pageParam && { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
    // With more than one page, polling is off: refetching all of them every few seconds would load the database.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 ? 5_000 : false),
  });
}

/** Dead letters and pending deliveries. */
export function Deliveries({ mayManage }: { mayManage: boolean }) {
  const dead = useUndelivered('dead');
  const waiting = useUndelivered('pending');
  return (
    <>
      <section className="stack" aria-labelledby="dead">
        <div className="row">
          <h2 id="dead">Dead letters</h2>
          {mayManage && <RedriveAll items={dead.data ?? []} />}
        </div>
        <p className="soft">
          Deliveries that failed every attempt. They block the archiving of the journal until they are
          redelivered or discarded.
        </p>
        <List query={dead} empty="No dead letters.">
          {(item) => <Line key={item.id} item={item} mayManage={mayManage} />}
        </List>
      </section>
      <section className="stack" aria-labelledby="waiting">
        <h2 id="waiting">Pending deliveries</h2>
        <List query={waiting} empty="No pending deliveries.">
          {(item) => <Line key={item.id} item={item} mayManage={false} />}
        </List>
      </section>
    </>
  );
}

function List({
  query,
  empty,
  children,
}: {
  query: ReturnType<typeof useUndelivered>;
  empty: string;
  children: (item: UndeliveredEvent) => React.ReactNode;
}) {
  return (
    <>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={2} />}
      {query.data?.length === 0 && <p className="soft">{empty}</p>}
      {query.data !== undefined && query.data.length > 0 && (
        <ul className={table.lines}>{query.data.map(children)}</ul>
      )}
      <ShowMore query={query} />
    </>
  );
}

function Line({ item, mayManage }: { item: UndeliveredEvent; mayManage: boolean }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const [isDiscarding, setDiscarding] = useState(false);
  const settled = () => queries.invalidateQueries({ queryKey: undelivered });
  const redrive = useMutation({
    mutationFn: () =>
      baton.operations.redriveUndeliveredEvent(item.id, {}, { idempotencyKey: keys.of('redrive') }),
    onSuccess: () => keys.taken(),
    onSettled: settled,
  });
  const drop = useMutation({
    mutationFn: (reason: string) =>
      baton.operations.dropUndeliveredEvent(item.id, { reason }, { idempotencyKey: keys.of(reason) }),
    onSettled: settled,
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    drop.mutate(String(new FormData(event.currentTarget).get('reason')).trim());
  }
  return (
    <li className={table.line}>
      <div className={table.main}>
        <p>
          <Link to="/journal" search={{ types: item.type }} className="mono">
            {item.type}
          </Link>{' '}
          <span className="soft">to</span> {item.sink}
        </p>
        <p className="soft">
          {item.attempts === 0
            ? 'No attempts'
            : `${item.attempts} ${item.attempts === 1 ? 'attempt' : 'attempts'}`}
          {item.nextAttemptAt !== null && <NextAttempt at={item.nextAttemptAt} />}
          {item.lastError !== null && ` · ${item.lastError}`}
        </p>
        <p className="soft mono">{item.eventId}</p>
      </div>
      {mayManage && (
        <div className="row">
          <button type="button" disabled={redrive.isPending} onClick={() => redrive.mutate()}>
            Redeliver
          </button>
          <button type="button" aria-expanded={isDiscarding} onClick={() => setDiscarding(!isDiscarding)}>
            Discard …
          </button>
        </div>
      )}
      {isDiscarding && (
        <form className={`row ${table.wide}`} onSubmit={onSubmit}>
          <input
            name="reason"
            aria-label="Reason (recorded in the journal)"
            placeholder="Reason (recorded in the journal)"
            maxLength={500}
            required
            autoFocus
            autoComplete="off"
          />
          <button type="submit" disabled={drop.isPending}>
            Discard delivery
          </button>
        </form>
      )}
      {(redrive.error ?? drop.error) !== null && (
        <div className={table.wide}>
          <ErrorNote error={redrive.error ?? drop.error} />
        </div>
      )}
    </li>
  );
}

function NextAttempt({ at }: { at: string }) {
  if (Date.parse(at) <= serverNow()) return ' · retrying now';
  return (
    <>
      {' · '}next attempt <Moment at={at} />
    </>
  );
}

/** Redelivers them one after the other; stops at the first error. */
function RedriveAll({ items }: { items: readonly UndeliveredEvent[] }) {
  const queries = useQueryClient();
  const [done, setDone] = useState(0);
  const redrive = useMutation({
    mutationFn: async (ids: readonly string[]) => {
      setDone(0);
      for (const [place, id] of ids.entries()) {
        // Idempotent: a pending delivery stays as it is.
        await baton.operations.redriveUndeliveredEvent(id, {});
        setDone(place + 1);
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: undelivered }),
  });
  if (items.length < 2) return null;
  return (
    <>
      <button
        type="button"
        disabled={redrive.isPending}
        onClick={() => redrive.mutate(items.map(({ id }) => id))}
      >
        {redrive.isPending ? `${done} of ${items.length} …` : `Redeliver all ${items.length}`}
      </button>
      {redrive.isError && <ErrorNote error={redrive.error} />}
    </>
  );
}
