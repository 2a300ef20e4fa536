import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';
import { useLiveFigures } from '../live-figures.ts';
import { serverNow } from '../server-clock.ts';
import type { OverviewSearch } from './overview-search.ts';

const dayMs = 86_400_000;
export const daysDefault = 30;

/** Figures are grouped into days of this browser's time zone. */
export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const dateFormat = new Intl.DateTimeFormat('en-CA', { timeZone });

/** The range of dates that a search selects, up to today. */
function rangeOf({ days: chosen, workspace }: OverviewSearch) {
  const days = chosen ?? daysDefault;
  const to = dateFormat.format(serverNow());
  const from = new Date(Date.parse(to) - (days - 1) * dayMs).toISOString().slice(0, 10);
  return { from, to, timeZone, ...scopeOf(workspace) };
}

export const scopeOf = (workspace: string | undefined) =>
  workspace === undefined ? {} : { workspaceId: workspace, includeDescendants: true };

export const workQuery = (search: OverviewSearch) =>
  queryOptions({
    queryKey: ['statistics', 'work', search],
    queryFn: ({ signal }) => baton.statistics.getWork(rangeOf(search), { signal }),
  });

export const waitsQuery = (search: OverviewSearch) =>
  queryOptions({
    queryKey: ['statistics', 'waits', search],
    queryFn: ({ signal }) => baton.statistics.getWaits(rangeOf(search), { signal }),
  });

export const leasesQuery = (search: OverviewSearch) =>
  queryOptions({
    queryKey: ['statistics', 'leases', search],
    queryFn: ({ signal }) => baton.statistics.getLeases(rangeOf(search), { signal }),
  });

export const usageQuery = (search: OverviewSearch, groupBy: 'principal' | 'workspace' | 'week') =>
  queryOptions({
    queryKey: ['statistics', 'usage', groupBy, search],
    queryFn: ({ signal }) => baton.statistics.getUsage({ ...rangeOf(search), groupBy }, { signal }),
  });

/** The tasks that each principal held between two instants. */
export const holdingsQuery = (workspace: string | undefined, fromMs: number, toMs: number) =>
  queryOptions({
    queryKey: ['statistics', 'holdings', workspace, fromMs, toMs],
    queryFn: ({ signal }) =>
      baton.statistics.getHoldings(
        {
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          ...scopeOf(workspace),
        },
        { signal },
      ),
    placeholderData: (before) => before,
  });

/** Types of events that change a figure. */
const counted =
  /^(task\.(created|completed|claimed)|claim\.|approval\.|run\.(succeeded|failed|cancelled|suspended))/;

/** Refetches the figures some time after an event that changes one. */
export const useLiveStatistics = (): void => useLiveFigures('statistics', counted);
