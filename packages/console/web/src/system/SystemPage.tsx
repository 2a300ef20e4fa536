import { useQuery } from '@tanstack/react-query';
import { useLineKeys } from '../parts/line-keys.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { Deliveries } from './Deliveries.tsx';
import { type Figures, readFigures, readHealth, type ServiceHealth } from './figures.ts';
import { Memory } from './Memory.tsx';
import styles from './system.module.css';

const everyMs = 5_000;
/** The services count for these: less often. */
const figuresEveryMs = 10_000;

/** Whether both services can work, what waits, and what could not be delivered. */
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
          What waits for delivery to other systems is shown to those with the permission{' '}
          <code className="mono">operations.read</code>.
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
          {wordsOf(data).map((line) => (
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

/** What a service says of itself, in sentences with what to do. */
function wordsOf({ says, failure }: ServiceHealth): string[] {
  if (failure !== undefined) return [failure];
  const { revision, reason, database, signingKey, dbRevision, headRevision } = says;
  const { horizonHolder, journalEpoch, memory } = (says.detail ?? {}) as Detail;
  return [
    revision !== undefined && `The database holds migration ${String(revision)}.`,
    reason === 'database_unreachable' && 'Its database does not answer.',
    reason === 'migrations_pending' &&
      `Its database holds migration ${String(dbRevision)} of ${String(headRevision)}: run the migrations.`,
    database === true && 'The database answers.',
    database === false && 'Its database does not answer.',
    signingKey === true && 'A signing key is there.',
    signingKey === false && 'No signing key is configured: nobody gets an access token.',
    horizonHolder &&
      `A transaction of ${horizonHolder.pid === null ? 'a prepared transaction' : `the database process ${horizonHolder.pid}`}, open for ${Math.round(horizonHolder.ageSeconds)} s, holds back the readers of the journal.`,
    journalEpoch &&
      `The journal went on anew after ${journalEpoch.reason ?? 'a restore'}; ${journalEpoch.cursorsRefused} readers came from a history that is no more.`,
    memory && `The memory service fails for ${memory.circuitsOpen} tenants and is left alone for now.`,
  ].filter((line) => typeof line === 'string');
}

/** What each figure is, and from which value on somebody should look. */
const shown: readonly {
  readonly name: string;
  readonly label: string;
  readonly isSeconds?: boolean;
  readonly alarmFrom?: number;
}[] = [
  { name: 'active_harness_sessions', label: 'Sessions alive' },
  { name: 'active_claims', label: 'Tasks held' },
  { name: 'active_runs', label: 'Runs under way' },
  { name: 'orphaned_runs', label: 'Runs that nobody holds', alarmFrom: 1 },
  {
    name: 'journal_horizon_age_seconds',
    label: 'Readers of the journal are behind',
    isSeconds: true,
    alarmFrom: 10,
  },
  { name: 'outbox_waiting', label: 'Events to deliver' },
  { name: 'outbox_oldest_age_seconds', label: 'The oldest of them waits', isSeconds: true, alarmFrom: 60 },
  { name: 'outbox_dead', label: 'Deliveries set aside', alarmFrom: 1 },
  { name: 'context_adapter_lag', label: 'Events for the memory service' },
  { name: 'context_adapter_parked_tenants', label: 'Tenants it refuses', alarmFrom: 1 },
  { name: 'database_requests_waiting', label: 'Requests waiting for the database', alarmFrom: 1 },
  { name: 'stale_fencing_rejections_total', label: 'Late writes refused' },
];

function Counts() {
  const { data, isError, error, refetch } = useQuery({
    queryKey: ['system', 'figures'],
    queryFn: ({ signal }) => readFigures(signal),
    refetchInterval: figuresEveryMs,
  });
  return (
    <section className="stack" aria-labelledby="counts">
      <h2 id="counts">Now, in all tenants</h2>
      {isError && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === null && (
        <p className="soft">
          This address keeps <code className="mono">/metrics</code> from browsers; your monitoring has these
          figures.
        </p>
      )}
      {data === undefined && !isError && <Loading />}
      {data && <Tiles figures={data} />}
    </section>
  );
}

function Tiles({ figures }: { figures: Figures }) {
  if (figures.active_claims === undefined)
    return <p className="soft">The database did not answer in time for its figures.</p>;
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
