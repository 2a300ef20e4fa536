import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { baton } from '../client.ts';
import { Countdown, Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import styles from './people.module.css';

/** A session that was silent for this long is shown as such: harnesses beat every few seconds. */
const silentMs = 10_000;

/** Who is alive: the open sessions, what they are, and their last sign of life. */
export function PeoplePage() {
  const me = useQuery(meQuery);
  const mayList = me.data?.permissions.includes('sessions.manage') ?? false;
  const query = useInfiniteQuery({
    queryKey: ['sessions', 'active'],
    queryFn: ({ pageParam, signal }) =>
      baton.sessions.list(
        { status: 'active', limit: 100, ...(pageParam && { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
    // Heartbeats write no event.
    refetchInterval: 5_000,
    enabled: mayList,
  });
  if (me.data !== undefined && !mayList)
    return (
      <div className="page">
        <h1>Agents and sessions</h1>
        <Empty title="You may not see the sessions of others">
          Ask an administrator for the right sessions.manage.
        </Empty>
      </div>
    );
  return (
    <div className="page">
      <h1>Agents and sessions</h1>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={5} />}
      {query.data?.length === 0 && (
        <Empty title="Nobody is at work">
          <p>
            Sessions appear here when agents open them; <code className="mono">npx baton demo</code> starts
            sixteen.
          </p>
        </Empty>
      )}
      <ul className={styles.sessions}>
        {query.data?.map((session) => {
          const isSilent = Date.now() - Date.parse(session.heartbeatAt) > silentMs;
          return (
            <li key={session.id} className={`card ${styles.session}`}>
              <p className={styles.name}>
                <Who id={session.principalId} />
              </p>
              <p className="soft">
                {session.clientName} {session.clientVersion}
              </p>
              <p className={isSilent ? styles.silent : 'soft'}>
                {isSilent ? 'Silent since' : 'Last sign of life'} <Moment at={session.heartbeatAt} />
              </p>
              <p className="soft">
                ends in <Countdown to={session.expiresAt} /> unless it is kept
              </p>
            </li>
          );
        })}
      </ul>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          Show more
        </button>
      )}
    </div>
  );
}
