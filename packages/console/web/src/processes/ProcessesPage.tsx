import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { baton } from '../client.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import lines from '../parts/values.module.css';
import { classOf } from './Diagram.tsx';
import styles from './processes.module.css';
import { type InstanceStatus, statuses } from './processes-search.ts';

const route = getRouteApi('/shell/processes');
const pageSize = 50;
const definitionsMax = 100;

/** Process instances and process definitions. */
export function ProcessesPage() {
  useLineKeys();
  return (
    <div className="page">
      <h1>Processes</h1>
      <Allowed permission="processes.read">
        <Instances />
        <Definitions />
      </Allowed>
    </div>
  );
}

function Instances() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useInfiniteQuery({
    queryKey: ['processes', 'instances', status],
    queryFn: ({ pageParam, signal }) =>
      baton.processInstances.list(
        { limit: pageSize, ...(status && { status }), ...(pageParam && { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  return (
    <section className="card stack" aria-labelledby="instances">
      <div className="row">
        <h2 id="instances">Instances</h2>
        <label>
          <span className="visually-hidden">Status</span>
          <select
            value={status ?? ''}
            onChange={({ target }) =>
              void navigate({ search: target.value ? { status: target.value as InstanceStatus } : {} })
            }
          >
            <option value="">Any status</option>
            {statuses.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data?.length === 0 && (
        <Empty title={status === undefined ? 'No process instances yet' : 'No instances match this filter'}>
          <p>
            Instances are started by a program, by an observation, or with{' '}
            <code className="mono">baton process start PROCESS KEY</code>.
          </p>
        </Empty>
      )}
      <ul className={lines.list}>
        {query.data?.map(
          ({ id, instanceKey, definitionKey, definitionVersion, status: state, slaState, updatedAt }) => (
            <li key={id} className={lines.line}>
              <Link to="/processes/$id" params={{ id }}>
                {instanceKey}
              </Link>
              <span className="soft">
                {definitionKey} {definitionVersion}
              </span>
              <span className={styles[classOf(state)] ?? ''}>
                {state}
                {slaState === 'breached' && ' · late'}
              </span>
              <span className="soft">
                <Moment at={updatedAt} />
              </span>
            </li>
          ),
        )}
      </ul>
      <ShowMore query={query} />
    </section>
  );
}

function Definitions() {
  const query = useQuery({
    queryKey: ['processes', 'definitions'],
    queryFn: ({ signal }) =>
      baton.processDefinitions.list({ limit: definitionsMax }, { signal }).then(({ items }) => items),
  });
  return (
    <section className="card stack" aria-labelledby="definitions">
      <h2 id="definitions">Definitions</h2>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.data?.length === 0 && (
        <p className="soft">
          No definitions. Publish one with <code className="mono">baton apply -f process.yaml</code>.
        </p>
      )}
      <ul className={lines.list}>
        {query.data?.map(({ key, version, displayName, status, createdAt }) => (
          <li key={key} className={lines.line}>
            <span>{displayName || key}</span>
            <span className="soft mono">{key}</span>
            <span className="soft">
              version {version}
              {status === 'retired' && ' · retired'}
            </span>
            <span className="soft">
              <Moment at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
