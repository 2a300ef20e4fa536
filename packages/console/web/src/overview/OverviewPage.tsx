import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Allowed } from '../parts/Allowed.tsx';
import { meQuery } from '../queries.ts';
import { workspacesQuery } from '../work/workspaces.ts';
import { Charts } from './Charts.tsx';
import { Numbers } from './Numbers.tsx';
import styles from './overview.module.css';
import { daysDefault, useLiveStatistics } from './overview-queries.ts';
import type { OverviewSearch } from './overview-search.ts';
import { Spending } from './Spending.tsx';
import { Strips } from './Strips.tsx';

const route = getRouteApi('/shell/overview');
const choices = [7, 30, 90] as const;

/** Work done, waiting times, lost leases, spending and claims in a range of days. */
export function OverviewPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (other: Partial<Record<keyof OverviewSearch, unknown>>) =>
    void navigate({ search: { ...search, ...other } as OverviewSearch, replace: true });
  return (
    <div className="page">
      <header className={styles.top}>
        <h1>Overview</h1>
        <fieldset className={styles.choice}>
          <legend className="visually-hidden">Range</legend>
          {choices.map((days) => (
            <button
              key={days}
              type="button"
              aria-pressed={days === (search.days ?? daysDefault)}
              onClick={() => change({ days: days === daysDefault ? undefined : days })}
            >
              {days} days
            </button>
          ))}
        </fieldset>
        <WorkspaceChoice
          workspace={search.workspace}
          onChange={(workspace) => change({ workspace: workspace === '' ? undefined : workspace })}
        />
      </header>
      <Allowed permission="tasks.read">
        <Figures search={search} />
      </Allowed>
    </div>
  );
}

function Figures({ search }: { search: OverviewSearch }) {
  useLiveStatistics();
  return (
    <>
      <Numbers search={search} />
      <Charts search={search} />
      <Spending search={search} />
      <Strips workspace={search.workspace} />
    </>
  );
}

/** Selects a workspace, with those below it. Hidden if no workspaces exist. */
function WorkspaceChoice({
  workspace = '',
  onChange,
}: {
  workspace: string | undefined;
  onChange: (workspace: string) => void;
}) {
  const mayRead = useQuery(meQuery).data?.permissions.includes('workspaces.read') ?? false;
  const { data = [] } = useQuery({ ...workspacesQuery, enabled: mayRead });
  const choice = data.filter(({ id, status }) => status === 'active' || id === workspace);
  if (choice.length === 0 && workspace === '') return null;
  return (
    <label className={styles.workspace}>
      <span className="visually-hidden">Workspace</span>
      <select value={workspace} onChange={({ target }) => onChange(target.value)}>
        <option value="">All workspaces</option>
        {workspace !== '' && !choice.some(({ id }) => id === workspace) && (
          <option value={workspace}>Current workspace</option>
        )}
        {choice.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
