import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { costsText, countText, durationText, tokensOf } from './figures.ts';
import styles from './overview.module.css';
import { leasesQuery, usageQuery, waitsQuery, workQuery } from './overview-queries.ts';
import type { OverviewSearch } from './overview-search.ts';

/** The figures for the whole range, each with a link to its details. */
export function Numbers({ search }: { search: OverviewSearch }) {
  const permissions = useQuery(meQuery).data?.permissions ?? [];
  const work = useQuery(workQuery(search));
  const waits = useQuery({ ...waitsQuery(search), enabled: permissions.includes('approvals.read') });
  const leases = useQuery(leasesQuery(search));
  const usage = useQuery(usageQuery(search, 'principal'));
  const failed = [work, waits, leases, usage].find(({ isError }) => isError);
  const workspace = search.workspace === undefined ? {} : { workspace: search.workspace };
  const done = { to: '/', search: { category: 'terminal_success', ...workspace } } as const;
  if (failed !== undefined && work.data === undefined)
    return <ErrorNote error={failed.error} onRetry={() => void failed.refetch()} />;
  if (work.data === undefined) return <Loading lines={3} />;
  const { completed, created, leadTime, cycleTime } = work.data;
  return (
    <>
      {failed !== undefined && <ErrorNote error={failed.error} onRetry={() => void failed.refetch()} />}
      <ul className={styles.tiles}>
        <Tile name="Done" value={countText(completed)} note={`${countText(created)} created`}>
          <Link {...done}>Finished tasks</Link>
        </Tile>
        <Tile
          name="Lead time"
          value={durationText(leadTime.p50Seconds)}
          note={`9 of 10 within ${durationText(leadTime.p90Seconds)}`}
        >
          <Link {...done}>From creation to completion</Link>
        </Tile>
        <Tile
          name="Cycle time"
          value={durationText(cycleTime.p50Seconds)}
          note={`9 of 10 within ${durationText(cycleTime.p90Seconds)}`}
        >
          <Link {...done}>From the first claim to completion</Link>
        </Tile>
        {waits.data !== undefined && (
          <Tile
            name="Waited for people"
            value={durationText(waits.data.waitingSeconds)}
            note={`${countText(waits.data.pending)} pending now, median decision time ${durationText(waits.data.decisionTime.p50Seconds)}`}
          >
            <Link to="/inbox">Pending decisions</Link>
          </Tile>
        )}
        {leases.data !== undefined && (
          <Tile
            name="Leases lost"
            value={countText(leases.data.lost)}
            note={`${countText(leases.data.refusedWrites)} late writes refused`}
          >
            {permissions.includes('events.read') && (
              <Link to="/journal" search={{ types: 'claim.expired' }}>
                Lost leases in the journal
              </Link>
            )}
          </Tile>
        )}
        {usage.data !== undefined && (
          <Tile
            name="Spent"
            value={costsText(usage.data.total)}
            note={`${countText(tokensOf(usage.data.total))} tokens`}
          >
            <a href="#spending">By agent and workspace</a>
          </Tile>
        )}
      </ul>
    </>
  );
}

function Tile({
  name,
  value,
  note,
  children,
}: {
  name: string;
  value: string;
  note: string;
  children: ReactNode;
}) {
  return (
    <li className={`card ${styles.tile}`}>
      <h2 className="soft">{name}</h2>
      <p className={styles.value}>{value}</p>
      <p className="soft">{note}</p>
      <p>{children}</p>
    </li>
  );
}
