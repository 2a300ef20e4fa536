import type { Registry } from 'prom-client';
import { type Db, sqlState } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { Counters } from '../../service/counters.ts';
import { EpochWatch } from './epoch-watch.ts';
import { findLiveCounts, findRevision, type LiveCountsRow, outboxCountMax } from './health.sql.ts';
import { HorizonWatch } from './horizon.ts';
import type { Readiness } from './readiness.ts';

/** Readiness and metrics of this process and its database (core, section 2). */
export interface Health {
  readiness(): Promise<Readiness>;
  /** Every figure in the text exposition format. */
  exposition(): Promise<string>;
  /** A cursor of another history was refused. */
  refusedCursor(): void;
}

/** The gauges are counted at most once in this time, whoever asks (W19). */
const countsAgeMsMax = 5000;
/** A probe asks again soon; it must not wait for an exhausted pool or a database that hangs. */
const readinessWaitMs = 3000;

const undefinedTable = '42P01';

/** @param headRevision the newest migration that this program knows */
export function createHealth(options: {
  db: Db;
  registry: Registry;
  counters: Pick<Counters, 'journalCursorsRefused'>;
  headRevision: number;
  log: Logger;
}): Health {
  const { db, registry, headRevision, log } = options;
  const horizon = new HorizonWatch(db, log);
  const epoch = new EpochWatch(db, log, options.counters.journalCursorsRefused);
  let counts: { readAt: number; row: Promise<LiveCountsRow | undefined> } | undefined;

  /** Who holds the readers back, and whether history changed; undefined when there is nothing to tell. */
  async function detailOf() {
    const [horizonHolder, journalEpoch] = await Promise.all([horizon.holder(), epoch.detail()]);
    if (horizonHolder === undefined && journalEpoch === undefined) return undefined;
    return { ...(horizonHolder && { horizonHolder }), ...(journalEpoch && { journalEpoch }) };
  }

  async function ask(): Promise<Readiness> {
    const dbRevision = await revisionOf(db);
    if (dbRevision < headRevision)
      return { status: 'unavailable', reason: 'migrations_pending', dbRevision, headRevision };
    const detail = await detailOf();
    return { status: 'ready', revision: dbRevision, ...(detail && { detail }) };
  }

  async function readiness(): Promise<Readiness> {
    try {
      return await within(readinessWaitMs, ask());
    } catch (error) {
      log.warn({ err: error }, 'not ready: the database is out of reach');
      return { status: 'unavailable', reason: 'database_unreachable' };
    }
  }

  function countsOf(): Promise<LiveCountsRow | undefined> {
    const now = performance.now();
    if (counts === undefined || now - counts.readAt > countsAgeMsMax) {
      const row = db.row(findLiveCounts()).catch((error: unknown) => {
        log.warn({ err: error }, 'the gauges could not be read');
        counts = undefined;
        return undefined;
      });
      counts = { readAt: now, row };
    }
    return counts.row;
  }

  return {
    readiness,
    refusedCursor: () => epoch.refusedCursor(),
    async exposition() {
      const [counters, row] = await Promise.all([registry.metrics(), countsOf()]);
      return `${counters}\n${row === undefined ? '# DB gauges unavailable\n' : gaugesOf(row)}`;
    },
  };
}

async function revisionOf(db: Db): Promise<number> {
  try {
    return (await db.row(findRevision))?.revision ?? 0;
  } catch (error) {
    if (sqlState(error) === undefinedTable) return 0;
    throw error;
  }
}

function gaugesOf(row: LiveCountsRow): string {
  const gauges: [name: string, help: string, value: number][] = [
    ['active_harness_sessions', 'Sessions whose lease is live.', row.sessions],
    ['active_claims', 'Claims whose lease is live.', row.claims],
    ['active_runs', 'Runs that are running under a live claim.', row.runs - row.orphaned_runs],
    ['orphaned_runs', 'Runs that nobody has ended, without a live claim.', row.orphaned_runs],
    [
      'journal_horizon_age_seconds',
      'Age of the first committed event that an open transaction still holds back from readers.',
      row.horizon_age_seconds,
    ],
    ['journal_epochs', 'Restarts, fail-overs and restores after which the journal went on.', row.epochs],
    ['outbox_waiting', `Events to be delivered, counted up to ${outboxCountMax}.`, row.outbox_waiting],
    ['outbox_dead', 'Events set aside after the last attempt to deliver them.', row.outbox_dead],
  ];
  return gauges
    .map(([name, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`)
    .join('\n');
}

async function within<T>(waitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => refuse(new Error(`no answer within ${waitMs} ms`)), waitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
