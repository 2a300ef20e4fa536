import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
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

/** Who is at work, what they hold, who says nothing any more, and which agents are idle. */
export function PeoplePage() {
  return (
    <div className="page">
      <h1>Agents and sessions</h1>
      <Allowed permission="sessions.manage">
        <People />
      </Allowed>
    </div>
  );
}

const filters = { all: 'Everybody', trouble: 'Unresponsive or stuck', holds: 'Holds something' } as const;

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
          What they hold is shown to those with the permission <code className="mono">tasks.read</code>.
        </p>
      )}
      {sessions.isSuccess && activities.length === 0 && (
        <Empty title="Nobody is at work">
          <p>
            Sessions appear here when agents open them; <code className="mono">baton demo live</code> starts
            four.
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
      {activities.length > 0 && shown.length === 0 && <p className="soft">Nobody is like this.</p>}
      <ul className={styles.agents}>
        {shown.map((activity) => (
          <AtWork key={activity.principalId} activity={activity} stalled={stalled} now={now} />
        ))}
      </ul>
      {claims.data?.length === claimsMax && (
        <p className="soft">Of the leases only the newest {claimsMax} are shown.</p>
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
    `${activities.length} at work`,
    counted(held.length, 'lease'),
    ...(silent > 0 ? [`${counted(silent, 'session')} unresponsive`] : []),
    ...(stuck > 0 ? [`${counted(stuck, 'run')} stuck`] : []),
  ].join(' · ');
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
