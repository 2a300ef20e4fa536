import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Usage } from '@baton/sdk';
import { Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery, workspaceQuery } from '../queries.ts';
import { BarChart } from './BarChart.tsx';
import { costsText, countText, dayText, moneyText, tokensOf } from './figures.ts';
import styles from './overview.module.css';
import { usageQuery } from './overview-queries.ts';
import type { OverviewSearch } from './overview-search.ts';

const shownMax = 10;

/** Tokens and money by agent, by workspace and by week. */
export function Spending({ search }: { search: OverviewSearch }) {
  const permissions = useQuery(meQuery).data?.permissions ?? [];
  const weeks = useQuery(usageQuery(search, 'week')).data;
  const agents = useQuery(usageQuery(search, 'principal')).data;
  const workspaces = useQuery(usageQuery(search, 'workspace')).data;
  if (weeks === undefined || agents === undefined || workspaces === undefined) return <Loading lines={3} />;
  const currency = currencyOf(weeks.total);
  const amountOf = (usage: Usage) =>
    currency === undefined
      ? tokensOf(usage)
      : (usage.costs.find((one) => one.currency === currency)?.costMicros ?? 0);
  const amountText = (amount: number) =>
    currency === undefined ? countText(amount) : moneyText(amount, currency);
  const peopleAreRead = permissions.includes('principals.read');
  return (
    <div className={styles.charts} id="spending">
      <BarChart
        title={currency === undefined ? 'Tokens per week' : `Spending per week, ${currency}`}
        what="Week of"
        labels={weeks.groups.map(({ week }) => dayText(week ?? ''))}
        series={[
          {
            name: currency === undefined ? 'Tokens' : 'Spent',
            tone: 'plain',
            values: weeks.groups.map(({ usage }) => amountOf(usage)),
          },
        ]}
        textOf={amountText}
      />
      <Ranking
        title="Spending by agent"
        what="Agent"
        lines={agents.groups.map(({ principalId, runs, usage }) => ({
          key: principalId ?? '',
          name:
            peopleAreRead && principalId !== null ? (
              <Link to="/people/$id" params={{ id: principalId }}>
                <Who id={principalId} />
              </Link>
            ) : (
              <Who id={principalId} />
            ),
          runs,
          usage,
          part: amountOf(usage),
        }))}
        others={agents.rest?.groups ?? 0}
      />
      <Ranking
        title="Spending by workspace"
        what="Workspace"
        lines={workspaces.groups.map(({ workspaceId, runs, usage }) => ({
          key: workspaceId ?? 'none',
          name:
            workspaceId === null ? (
              'No workspace'
            ) : (
              <Link to="/" search={{ workspace: workspaceId }}>
                <WorkspaceName id={workspaceId} />
              </Link>
            ),
          runs,
          usage,
          part: amountOf(usage),
        }))}
        others={workspaces.rest?.groups ?? 0}
      />
    </div>
  );
}

/** The currency with the highest costs, for the charts. The tables include all currencies. */
function currencyOf({ costs }: Usage): string | undefined {
  return costs.toSorted((a, b) => b.costMicros - a.costMicros)[0]?.currency;
}

interface Line {
  readonly key: string;
  readonly name: ReactNode;
  readonly runs: number;
  readonly usage: Usage;
  /** The amount that its bar represents. */
  readonly part: number;
}

function Ranking({
  title,
  what,
  lines,
  others,
}: {
  title: string;
  what: string;
  lines: readonly Line[];
  others: number;
}) {
  const most = Math.max(1, ...lines.map(({ part }) => part));
  const more = Math.max(0, lines.length - shownMax) + others;
  return (
    <section className={`card stack ${styles.chart}`} aria-label={title}>
      <h2>{title}</h2>
      {lines.length === 0 ? (
        <p className="soft">No tokens or costs were recorded in this range.</p>
      ) : (
        <div className={styles.scroll} role="region" aria-label={`${title}: table`} tabIndex={0}>
          <table className={styles.table}>
            <caption className="visually-hidden">{title}</caption>
            <thead>
              <tr>
                <th scope="col">{what}</th>
                <th scope="col" className={styles.number}>
                  Runs
                </th>
                <th scope="col" className={styles.number}>
                  Tokens
                </th>
                <th scope="col" className={styles.number}>
                  Money
                </th>
              </tr>
            </thead>
            <tbody>
              {lines.slice(0, shownMax).map(({ key, name, runs, usage, part }) => (
                <tr key={key}>
                  <th scope="row">
                    {name}
                    <svg
                      viewBox="0 0 100 4"
                      preserveAspectRatio="none"
                      className={styles.share}
                      aria-hidden="true"
                    >
                      <rect width={(part / most) * 100} height={4} className={styles.plain} />
                    </svg>
                  </th>
                  <td className={styles.number}>{countText(runs)}</td>
                  <td className={styles.number}>{countText(tokensOf(usage))}</td>
                  <td className={styles.number}>{costsText(usage)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more > 0 && <p className="soft">{more} more with lower costs.</p>}
    </section>
  );
}

/** The name of a workspace; the end of its id if the name is not readable. */
function WorkspaceName({ id }: { id: string }) {
  const { data, isError } = useQuery(workspaceQuery(id));
  return <>{data?.name ?? (isError ? id.slice(-8) : '…')}</>;
}
