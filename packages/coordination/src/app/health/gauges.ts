import type { Pool } from '@baton/kernel/database/db';
import { within } from '@baton/kernel/limits/within';
import type { Logger } from '@baton/kernel/process/log';
import {
  type AdapterCountsRow,
  adapterLagMax,
  findAdapterCounts,
  findLiveCounts,
  type LiveCountsRow,
  outboxCountMax,
} from './health.sql.ts';

/** The store's gauges are read at most once in this time, whatever the number of callers. */
const countsAgeMsMin = 5000;
/**
 * The pause after a reading is at least this many times the reading's duration, so that readings take little of the
 * time.
 */
const pausePerReading = 50;
const countsAgeMsMax = 60_000;
/**
 * How long a response waits for the gauges. A scraper usually waits for 10 s and must get the counters even when the
 * database is unresponsive.
 */
const countsWaitMs = 3000;

type Gauge = readonly [name: string, help: string, value: number, kind?: 'counter'];

type StoreRow = LiveCountsRow & { readonly adapter: AdapterCountsRow };

/** The gauges of a process and of its store in the text exposition format. */
export interface Gauges {
  /** Omits the store's gauges, and includes a comment instead, if they can't be read within 3 s. */
  text(): Promise<string>;
}

export function createGauges(pool: Pool, log: Logger): Gauges {
  let reading: Promise<StoreRow | undefined> | undefined;
  let nextAtMs = Number.NEGATIVE_INFINITY;

  function countsOf(): Promise<StoreRow | undefined> {
    if (reading === undefined || performance.now() >= nextAtMs) reading = read();
    return reading;
  }

  /** Only one reading runs at a time, however long the database takes; after a failure the next call reads again. */
  async function read(): Promise<StoreRow | undefined> {
    const startedAtMs = performance.now();
    nextAtMs = Number.POSITIVE_INFINITY;
    try {
      const live = (await pool.row(findLiveCounts())) as LiveCountsRow;
      const adapter = (await pool.row(findAdapterCounts())) as AdapterCountsRow;
      const tookMs = performance.now() - startedAtMs;
      const pauseMs = Math.min(Math.max(countsAgeMsMin, tookMs * pausePerReading), countsAgeMsMax);
      nextAtMs = startedAtMs + pauseMs;
      return { ...live, adapter };
    } catch (error) {
      log.warn({ err: error }, 'the gauges could not be read');
      nextAtMs = Number.NEGATIVE_INFINITY;
      return undefined;
    }
  }

  return {
    async text() {
      const row = await within(countsWaitMs, countsOf()).catch(() => undefined);
      const ofStore = row === undefined ? '# DB gauges unavailable\n' : formatGauges(storeGauges(row));
      return `${formatGauges(poolGauges(pool))}\n${ofStore}`;
    },
  };
}

/** Gauges of this process: add them up across all processes. */
function poolGauges(pool: Pool): Gauge[] {
  const { inUse, idle, waiting } = pool.usage();
  return [
    ['database_connections_in_use', 'Connections of this process in use.', inUse],
    ['database_connections_idle', 'Idle connections of this process.', idle],
    ['database_requests_waiting', 'Requests that wait for a connection in this process.', waiting],
  ];
}

/** Gauges of the store, the same from every process: use those of one process and don't add them up. */
function storeGauges(row: StoreRow): Gauge[] {
  return [
    ['active_harness_sessions', 'Sessions with a live lease.', row.sessions],
    ['active_claims', 'Claims with a live lease.', row.claims],
    ['active_runs', 'Running runs under a live claim.', row.live_runs],
    ['orphaned_runs', 'Running runs without a live claim.', Math.max(0, row.running_runs - row.live_runs)],
    [
      'journal_horizon_age_seconds',
      'Age of the first committed event that an open transaction still hides from readers.',
      row.horizon_age_seconds,
    ],
    ['journal_epochs', 'Restarts, failovers and restores after which the journal continued.', row.epochs],
    ['outbox_waiting', `Undelivered events, counted up to ${outboxCountMax}.`, row.outbox_waiting],
    [
      'outbox_oldest_age_seconds',
      'Age of the oldest undelivered event that is not a dead letter.',
      row.outbox_oldest_seconds,
    ],
    ['outbox_dead', 'Dead letters: events whose last delivery attempt failed.', row.outbox_dead],
    ...adapterGauges(row.adapter),
  ];
}

/**
 * The adapter's figures are stored in the database, because several processes deliver, so even its counters are the
 * same from every process.
 */
function adapterGauges({ delivered, duplicates, failures, parked, lag }: AdapterCountsRow): Gauge[] {
  const name = (end: string) => `context_adapter_${end}`;
  return [
    [name('delivered_total'), 'Events that the memory service confirmed.', delivered, 'counter'],
    [name('duplicates_total'), 'Of these, events that it had already.', duplicates, 'counter'],
    [name('failures_total'), 'Attempts after which a tenant was put on hold.', failures, 'counter'],
    [name('parked_tenants'), 'Tenants whose last attempt failed.', parked],
    [name('lag'), `Undelivered events, counted up to ${adapterLagMax}.`, Math.min(lag, adapterLagMax)],
    [name('lag_capped'), 'Whether there are more.', lag > adapterLagMax ? 1 : 0],
  ];
}

function formatGauges(gauges: readonly Gauge[]): string {
  return gauges
    .map(
      ([name, help, value, kind = 'gauge']) =>
        `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`,
    )
    .join('\n');
}
