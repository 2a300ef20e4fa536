import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../queries.ts';
import { BarChart } from './BarChart.tsx';
import { countText, dayText, durationText } from './figures.ts';
import styles from './overview.module.css';
import { leasesQuery, waitsQuery, workQuery } from './overview-queries.ts';
import type { OverviewSearch } from './overview-search.ts';

/** The figures for each day. Errors are shown only once, in `Numbers`. */
export function Charts({ search }: { search: OverviewSearch }) {
  const permissions = useQuery(meQuery).data?.permissions ?? [];
  const work = useQuery(workQuery(search)).data;
  const waits = useQuery({ ...waitsQuery(search), enabled: permissions.includes('approvals.read') }).data;
  const leases = useQuery(leasesQuery(search)).data;
  return (
    <div className={styles.charts}>
      {work !== undefined && (
        <BarChart
          title="Work done per day"
          what="Day"
          labels={work.days.map(({ date }) => dayText(date))}
          series={[{ name: 'Done', tone: 'plain', values: work.days.map(({ completed }) => completed) }]}
          textOf={countText}
        />
      )}
      {work !== undefined && (
        <BarChart
          title="Lead time by day of completion"
          what="Day"
          labels={work.days.map(({ date }) => dayText(date))}
          series={[
            {
              name: '9 of 10 within',
              tone: 'soft',
              values: work.days.map(({ leadTime }) => leadTime.p90Seconds ?? 0),
            },
            {
              name: 'half within',
              tone: 'plain',
              values: work.days.map(({ leadTime }) => leadTime.p50Seconds ?? 0),
            },
          ]}
          textOf={durationText}
        />
      )}
      {waits !== undefined && (
        <BarChart
          title="Time spent waiting for people"
          what="Day"
          labels={waits.days.map(({ date }) => dayText(date))}
          series={[
            { name: 'Waited', tone: 'warn', values: waits.days.map(({ waitingSeconds }) => waitingSeconds) },
          ]}
          textOf={durationText}
        />
      )}
      {leases !== undefined && (
        <BarChart
          title="Leases lost and late writes refused"
          what="Day"
          labels={leases.days.map(({ date }) => dayText(date))}
          series={[
            { name: 'Leases lost', tone: 'bad', values: leases.days.map(({ lost }) => lost) },
            {
              name: 'Late writes refused',
              tone: 'warn',
              values: leases.days.map(({ refusedWrites }) => refusedWrites),
            },
          ]}
          textOf={countText}
          isStacked
        />
      )}
    </div>
  );
}
