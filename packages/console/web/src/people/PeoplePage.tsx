import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Allowed } from '../parts/Allowed.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import { meQuery } from '../queries.ts';
import { AtWork } from './AtWork.tsx';
import {
  type Activity,
  activityOf,
  agentsQuery,
  claimsMax,
  claimsQuery,
  isSilent,
  runsQuery,
  sessionsQuery,
  useLivePeople,
  useNow,
} from './activity.ts';
import { Disabled } from './Disabled.tsx';
import { Idle } from './Idle.tsx';
import styles from './people.module.css';

/** Active principals with their claims, unresponsive sessions, and idle agents. */
export function PeoplePage() {
  const me = useQuery(meQuery).data;
  const [isConnecting, setConnecting] = useState(false);
  return (
    <div className="page">
      <header className="row">
        <h1>Agents and sessions</h1>
        {me?.permissions.includes('admin') && (
          <button type="button" onClick={() => setConnecting(true)}>
            Connect an agent
          </button>
        )}
      </header>
      {isConnecting && (
        <Suspense>
          <ConnectDialog onClose={() => setConnecting(false)} />
        </Suspense>
      )}
      <Allowed permission="sessions.manage">
        <People />
      </Allowed>
    </div>
  );
}

/** Loaded only when the page is opened. */
const ConnectDialog = lazy(() => import('../connect/ConnectDialog.tsx'));

const filters = { all: 'All', trouble: 'Unresponsive or stalled', holds: 'With claimed tasks' } as const;

function People() {
  const permissions = useQuery(meQuery).data?.permissions ?? [];
  const mayReadTasks = permissions.includes('tasks.read');
  const [filter, setFilter] = useState<keyof typeof filters>('all');
  const sessions = useInfiniteQuery(sessionsQuery);
  const claims = useQuery({ ...claimsQuery, enabled: mayReadTasks });
  const runs = useQuery({ ...runsQuery, enabled: mayReadTasks });
  const agents = useQuery({ ...agentsQuery, enabled: permissions.includes('principals.read') });
  const now = useNow();
  useLivePeople();
  useLineKeys();
  const stalled = runs.data?.stalled ?? nobody;
  const activities = activityOf(sessions.data ?? [], claims.data, runs.data?.running);
  const isTrouble = (activity: Activity) =>
    activity.sessions.some((session) => isSilent(session, now)) ||
    activity.held.some(({ run }) => run !== undefined && stalled.has(run.id));
  const isShown = {
    all: () => true,
    trouble: isTrouble,
    holds: ({ held }: Activity) => held.length > 0,
  }[filter];
  const shown = activities.filter(isShown);
  const busy = new Set(activities.map(({ principalId }) => principalId));
  return (
    <>
      {sessions.isError && <ErrorNote error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {claims.isError && <ErrorNote error={claims.error} onRetry={() => void claims.refetch()} />}
      {runs.isError && <ErrorNote error={runs.error} onRetry={() => void runs.refetch()} />}
      {sessions.isPending && <Loading lines={5} />}
      {!mayReadTasks && (
        <p className="soft">
          Claimed tasks require the permission <code className="mono">tasks.read</code>.
        </p>
      )}
      {sessions.isSuccess && activities.length === 0 && (
        <Empty title="No active sessions">
          <p>
            Sessions appear here when agents connect. To start four demo agents, run{' '}
            <code className="mono">baton demo live</code>.
          </p>
        </Empty>
      )}
      {activities.length > 0 && (
        <div className={styles.summary}>
          <p>{summaryOf(activities, now, stalled)}</p>
          <label className="row">
            <span className="soft">Show</span>
            <select value={filter} onChange={({ target }) => setFilter(target.value as keyof typeof filters)}>
              {Object.entries(filters).map(([key, name]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      {activities.length > 0 && shown.length === 0 && <p className="soft">Nobody matches this filter.</p>}
      <ul className={styles.agents}>
        {shown.map((activity) => (
          <AtWork key={activity.principalId} activity={activity} stalled={stalled} now={now} />
        ))}
      </ul>
      {claims.data?.length === claimsMax && (
        <p className="soft">Only the newest {claimsMax} claims are shown.</p>
      )}
      <ShowMore query={sessions} />
      {sessions.isSuccess && agents.data !== undefined && (
        <>
          <Idle agents={agents.data.active.filter(({ id }) => !busy.has(id))} isCut={agents.data.isCut} />
          <Disabled agents={agents.data.disabled} />
        </>
      )}
    </>
  );
}

const nobody: ReadonlySet<string> = new Set();

function summaryOf(activities: readonly Activity[], now: number, stalled: ReadonlySet<string>): string {
  const sessions = activities.flatMap((activity) => activity.sessions);
  const held = activities.flatMap((activity) => activity.held);
  const silent = sessions.filter((session) => isSilent(session, now)).length;
  const stuck = held.filter(({ run }) => run !== undefined && stalled.has(run.id)).length;
  return [
    `${activities.length} active`,
    counted(held.length, 'claimed task'),
    ...(silent > 0 ? [`${counted(silent, 'session')} unresponsive`] : []),
    ...(stuck > 0 ? [`${counted(stuck, 'run')} stalled`] : []),
  ].join(' · ');
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
