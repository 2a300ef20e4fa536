import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { AtWork } from './AtWork.tsx';
import { activityOf, agentsQuery, claimsQuery, runsQuery, sessionsQuery } from './activity.ts';
import styles from './people.module.css';

/** Who is at work, what they hold, who says nothing any more, and which agents are idle. */
export function PeoplePage() {
  const me = useQuery(meQuery);
  const permissions = me.data?.permissions ?? [];
  const mayList = permissions.includes('sessions.manage');
  const mayRead = permissions.includes('tasks.read');
  const sessions = useInfiniteQuery({ ...sessionsQuery, enabled: mayList });
  const claims = useQuery({ ...claimsQuery, enabled: mayList && mayRead });
  const runs = useQuery({ ...runsQuery, enabled: mayList && mayRead });
  const agents = useQuery({ ...agentsQuery, enabled: mayList && permissions.includes('principals.read') });
  if (me.data !== undefined && !mayList)
    return (
      <div className="page">
        <h1>Agents and sessions</h1>
        <Empty title="You may not see the sessions of others">
          Ask an administrator for the right sessions.manage.
        </Empty>
      </div>
    );
  const activities = activityOf(sessions.data ?? [], claims.data, runs.data?.running);
  const busy = new Set(activities.map(({ principalId }) => principalId));
  const idle = (agents.data ?? []).filter(({ id }) => !busy.has(id));
  return (
    <div className="page">
      <h1>Agents and sessions</h1>
      {sessions.isError && <ErrorNote error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {claims.isError && <ErrorNote error={claims.error} onRetry={() => void claims.refetch()} />}
      {sessions.isPending && <Loading lines={5} />}
      {sessions.isSuccess && activities.length === 0 && (
        <Empty title="Nobody is at work">
          <p>
            Sessions appear here when agents open them; <code className="mono">npx baton demo live</code>{' '}
            starts four.
          </p>
        </Empty>
      )}
      <ul className={styles.agents}>
        {activities.map((activity) => (
          <AtWork key={activity.principalId} activity={activity} stalled={runs.data?.stalled ?? nobody} />
        ))}
      </ul>
      {sessions.hasNextPage && (
        <button type="button" onClick={() => void sessions.fetchNextPage()}>
          Show more
        </button>
      )}
      {idle.length > 0 && (
        <details className="card">
          <summary>
            {idle.length} {idle.length === 1 ? 'agent is' : 'agents are'} not at work
          </summary>
          <ul className={styles.idle}>
            {idle.map(({ id, displayName }) => (
              <li key={id} className="text">
                {displayName}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

const nobody: ReadonlySet<string> = new Set();
