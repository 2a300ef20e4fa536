import { useQuery } from '@tanstack/react-query';
import { useLineKeys } from '../parts/line-keys.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { Deliveries } from './Deliveries.tsx';
import { type Figures, readFigures, readHealth, type ServiceHealth } from './figures.ts';
import { Memory } from './Memory.tsx';
import styles from './system.module.css';

const everyMs = 5_000;
/** The services compute these on request, so they are polled less often. */
const figuresEveryMs = 10_000;

/** The health of both services, their metrics, and undelivered events. */
export function SystemPage() {
  const me = useQuery(meQuery);
  const permissions = me.data?.permissions ?? [];
  const may = (right: string) => permissions.includes(right) || permissions.includes('admin');
  const mayManage = may('operations.manage');
  const mayRead = mayManage || may('operations.read');
  useLineKeys();
  return (
    <div className="page">
      <h1>System</h1>
      <Services />
      <Counts />
      {mayRead && <Deliveries mayManage={mayManage} />}
      {mayRead && <Memory mayManage={mayManage} />}
      {me.data !== undefined && !mayRead && (
        <p className="soft">
          Deliveries require the permission <code className="mono">operations.read</code>.
        </p>
      )}
    </div>
  );
}

function Services() {
  return (
    <section className={styles.services} aria-label="Services">
      <ServiceCard name="Identity" path="/iam/readyz" />
      <ServiceCard name="Coordination" path="/health/ready" />
    </section>
  );
}

function ServiceCard({ name, path }: { name: string; path: string }) {
  const { data } = useQuery({
    queryKey: ['system', path],
    queryFn: ({ signal }) => readHealth(path, signal),
    refetchInterval: everyMs,
  });
  return (
    <article className={`card ${styles.service}`}>
      <h2>{name}</h2>
      {data === undefined ? (
        <Loading lines={1} />
      ) : (
        <>
          <p className={data.isReady ? styles.good : styles.bad}>{data.isReady ? 'Ready' : 'Not ready'}</p>
          {describeHealth(data).map((line) => (
            <p key={line} className="soft">
              {line}
            </p>
          ))}
        </>
      )}
    </article>
  );
}

interface Detail {
  readonly horizonHolder?: { pid: number | null; ageSeconds: number; database: string | null };
  readonly journalEpoch?: { beganAt: string | null; reason: string | null; cursorsRefused: number };
  readonly memory?: { circuitsOpen: number };
}

/** Turns the health report of a service into sentences. */
function describeHealth({ report, failure }: ServiceHealth): string[] {
  if (failure !== undefined) return [failure];
  const { revision, reason, database, signingKey, dbRevision, headRevision } = report;
  const { horizonHolder, journalEpoch, memory } = (report.detail ?? {}) as Detail;
  return [
    revision !== undefined && `Database schema: migration ${String(revision)}.`,
    reason === 'database_unreachable' && 'The database is not responding.',
    reason === 'migrations_pending' &&
      `The database schema is at migration ${String(dbRevision)} of ${String(headRevision)}. Run the migrations.`,
    database === true && 'The database is responding.',
    database === false && 'The database is not responding.',
    signingKey === true && 'A signing key is configured.',
    signingKey === false && 'No signing key is configured, so no access tokens can be issued.',
    horizonHolder &&
      `${horizonHolder.pid === null ? 'A prepared transaction' : `A transaction of database process ${horizonHolder.pid}`}, open for ${Math.round(horizonHolder.ageSeconds)} s, delays the readers of the journal.`,
    journalEpoch &&
      `The journal was reset by ${journalEpoch.reason ?? 'a restore'}. Earlier cursors were rejected ${journalEpoch.cursorsRefused} times.`,
    memory && `The memory service is failing for ${memory.circuitsOpen} tenants. Requests to it are paused.`,
  ].filter((line) => typeof line === 'string');
}

/** Each metric's label, and the value from which it is highlighted. */
const shown: readonly {
  readonly name: string;
  readonly label: string;
  readonly isSeconds?: boolean;
  readonly alarmFrom?: number;
}[] = [
  { name: 'active_harness_sessions', label: 'Active sessions' },
  { name: 'active_claims', label: 'Claimed tasks' },
  { name: 'active_runs', label: 'Active runs' },
  { name: 'orphaned_runs', label: 'Orphaned runs', alarmFrom: 1 },
  {
    name: 'journal_horizon_age_seconds',
    label: 'Journal reader lag',
    isSeconds: true,
    alarmFrom: 10,
  },
  { name: 'outbox_waiting', label: 'Pending deliveries' },
  { name: 'outbox_oldest_age_seconds', label: 'Oldest pending delivery', isSeconds: true, alarmFrom: 60 },
  { name: 'outbox_dead', label: 'Dead letters', alarmFrom: 1 },
  { name: 'context_adapter_lag', label: 'Memory service backlog' },
  { name: 'context_adapter_parked_tenants', label: 'Tenants with memory delivery on hold', alarmFrom: 1 },
  { name: 'database_requests_waiting', label: 'Requests queued for the database', alarmFrom: 1 },
  { name: 'stale_fencing_rejections_total', label: 'Stale writes rejected' },
];

function Counts() {
  const { data, isError, error, refetch } = useQuery({
    queryKey: ['system', 'figures'],
    queryFn: ({ signal }) => readFigures(signal),
    refetchInterval: figuresEveryMs,
  });
  return (
    <section className="stack" aria-labelledby="counts">
      <h2 id="counts">Metrics, all tenants</h2>
      {isError && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === null && (
        <p className="soft">
          <code className="mono">/metrics</code> is not available to browsers at this URL. See your monitoring
          for these metrics.
        </p>
      )}
      {data === undefined && !isError && <Loading />}
      {data && <Tiles figures={data} />}
    </section>
  );
}

function Tiles({ figures }: { figures: Figures }) {
  if (figures.active_claims === undefined)
    return <p className="soft">The database did not respond in time. Some metrics are unavailable.</p>;
  return (
    <dl className={styles.tiles}>
      {shown.map(({ name, label, isSeconds = false, alarmFrom = Number.POSITIVE_INFINITY }) => {
        const value = figures[name] ?? 0;
        return (
          <div key={name} className={`card ${styles.tile}`}>
            <dt className="soft">{label}</dt>
            <dd className={value >= alarmFrom ? styles.alarm : ''}>
              {isSeconds ? duration(value) : value.toLocaleString('en')}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
