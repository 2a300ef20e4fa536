import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { type Holding, revealHidden } from '@baton/sdk';
import { lookup } from '../journal/sentences/sentence.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { serverNow } from '../server-clock.ts';
import { lanesOf } from './lanes.ts';
import styles from './overview.module.css';
import { holdingsQuery } from './overview-queries.ts';

const hourMs = 3_600_000;
/** The zoom: the hours that a strip shows. */
const zooms = [
  [24, '1 day'],
  [6, '6 hours'],
  [1, '1 hour'],
] as const;
/** More strips would make the page slow. The table lists all holders. */
const holdersMax = 50;

const clock = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const time = new Intl.DateTimeFormat('en', { timeStyle: 'short' });

/** The next full hour. The query stays the same until then. */
const nextHour = () => Math.ceil(serverNow() / hourMs) * hourMs;

/** A strip per principal: the tasks that it held in a day, in six hours or in an hour. */
export function Strips({ workspace }: { workspace: string | undefined }) {
  const id = useId();
  const [hours, setHours] = useState<number>(24);
  const [toMs, setTo] = useState(nextHour);
  const [isTable, setTable] = useState(false);
  const fromMs = toMs - hours * hourMs;
  const { data, isError, error, refetch } = useQuery(holdingsQuery(workspace, fromMs, toMs));
  const holders = [...Map.groupBy(data?.items ?? [], ({ holderId }) => holderId)];
  const isNewest = toMs >= nextHour();
  return (
    <section className="card stack" aria-labelledby={id}>
      <header className={styles.head}>
        <h2 id={id}>Who held what</h2>
        <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Show as table
        </button>
      </header>
      <div className="row">
        <button type="button" onClick={() => setTo(toMs - hours * hourMs)}>
          Earlier
        </button>
        <button
          type="button"
          disabled={isNewest}
          onClick={() => setTo(Math.min(toMs + hours * hourMs, nextHour()))}
        >
          Later
        </button>
        <button type="button" disabled={isNewest} onClick={() => setTo(nextHour())}>
          Now
        </button>
        <label className="row">
          <span className="soft">Show</span>
          <select value={hours} onChange={({ target }) => setHours(Number(target.value))}>
            {zooms.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <span className="soft" aria-live="polite">
          {clock.format(fromMs)} to {clock.format(toMs)}
        </span>
      </div>
      {isError && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && !isError && <Loading lines={3} />}
      {data !== undefined && holders.length === 0 && <p className="soft">No tasks held in this period.</p>}
      {data?.isTruncated && (
        <p className="soft">
          Only the newest 2,000 claims are shown. Zoom in to see all claims of a shorter period.
        </p>
      )}
      {holders.length > 0 && !isTable && (
        <ul className={styles.strips}>
          {holders.slice(0, holdersMax).map(([holderId, held]) => (
            <li key={holderId} className={styles.strip}>
              <h3>
                <Who id={holderId} />
              </h3>
              <Strip held={held} fromMs={fromMs} toMs={toMs} />
            </li>
          ))}
        </ul>
      )}
      {holders.length > holdersMax && !isTable && (
        <p className="soft">Holders listed only in the table: {holders.length - holdersMax}.</p>
      )}
      {holders.length > 0 && isTable && <HoldingTable held={data?.items ?? []} />}
    </section>
  );
}

function Strip({ held, fromMs, toMs }: { held: readonly Holding[]; fromMs: number; toMs: number }) {
  const lanes = lanesOf(held);
  const placeOf = (at: number) => ((Math.min(Math.max(at, fromMs), toMs) - fromMs) / (toMs - fromMs)) * 100;
  return (
    <ol className={styles.track} style={{ height: Math.max(1, lanes.length) * 26 }}>
      {lanes.flatMap((lane, n) =>
        lane.map((one) => {
          const left = placeOf(Date.parse(one.acquiredAt));
          const right = placeOf(one.endedAt === null ? serverNow() : Date.parse(one.endedAt));
          return (
            <li
              key={one.claimId}
              className={styles.held}
              style={{ left: `${left}%`, width: `${Math.max(right - left, 0.4)}%`, top: n * 26 }}
            >
              <Link
                to="/tasks/$ref"
                params={{ ref: one.publicId }}
                className={isLost(one) ? styles.lost : undefined}
                title={textOf(one)}
                aria-label={textOf(one)}
              >
                {one.publicId}
              </Link>
            </li>
          );
        }),
      )}
    </ol>
  );
}

const isLost = ({ endReason }: Holding): boolean =>
  endReason !== null && ['expired', 'session_inactive', 'session_expired'].includes(endReason);

/** Reasons that the service records. Other reasons are free text from the caller that released the claim. */
const reasons: Readonly<Record<string, string>> = {
  expired: 'lost: the lease expired',
  session_inactive: 'lost: the session had ended',
  session_expired: 'lost: the session expired',
  session_closed: 'released when the session was closed',
  completed: 'released on completion',
  task_cancelled: 'the task was cancelled',
  principal_disabled: 'the holder was disabled',
};

const reasonText = ({ endReason, endedAt }: Holding): string => {
  if (endedAt === null) return 'still held';
  return lookup(reasons, endReason ?? '') ?? revealHidden(endReason || 'released');
};

const textOf = (one: Holding): string =>
  `${one.publicId} ${revealHidden(one.title)}, ${time.format(Date.parse(one.acquiredAt))} to ${
    one.endedAt === null ? 'now' : time.format(Date.parse(one.endedAt))
  }, ${reasonText(one)}`;

function HoldingTable({ held }: { held: readonly Holding[] }) {
  return (
    <div className={styles.scroll} role="region" aria-label="Who held what: table" tabIndex={0}>
      <table className={styles.table}>
        <caption className="visually-hidden">Who held what</caption>
        <thead>
          <tr>
            <th scope="col">Holder</th>
            <th scope="col">Task</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">End</th>
          </tr>
        </thead>
        <tbody>
          {held.map((one) => (
            <tr key={one.claimId}>
              <th scope="row">
                <Who id={one.holderId} />
              </th>
              <td>
                <Link to="/tasks/$ref" params={{ ref: one.publicId }}>
                  <span className="mono">{one.publicId}</span> {revealHidden(one.title)}
                </Link>
              </td>
              <td>
                <time dateTime={one.acquiredAt}>{clock.format(Date.parse(one.acquiredAt))}</time>
              </td>
              <td>
                {one.endedAt === null ? (
                  'now'
                ) : (
                  <time dateTime={one.endedAt}>{clock.format(Date.parse(one.endedAt))}</time>
                )}
              </td>
              <td>{reasonText(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
