import type { Registry } from 'prom-client';
import { type Db, sqlState } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { findLiveCounts, findRevision, type LiveCountsRow, outboxCountMax } from './health.sql.ts';
import { HorizonWatch } from './horizon.ts';
import type { Readiness } from './readiness.ts';

/** Readiness and metrics of this process and its database (core, section 2). */
export interface Health {
  readiness(): Promise<Readiness>;
  /** Every figure in the text exposition format. */
  exposition(): Promise<string>;
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
  headRevision: number;
  log: Logger;
}): Health {
  const { db, registry, headRevision, log } = options;
  const horizon = new HorizonWatch(db, log);
  let counts: { readAt: number; row: Promise<LiveCountsRow | undefined> } | undefined;

  async function readiness() {
    try {
      const asked = Promise.all([revisionOf(db), horizon.holder()]);
      const [dbRevision, horizonHolder] = await within(readinessWaitMs, asked);
      if (dbRevision < headRevision)
        return {
          status: 'unavailable' as const,
          reason: 'migrations_pending' as const,
          dbRevision,
          headRevision,
        };
      const detail = horizonHolder && { detail: { horizonHolder } };
      return { status: 'ready' as const, revision: dbRevision, ...detail };
    } catch (error) {
      log.warn({ err: error }, 'not ready: the database is out of reach');
      return { status: 'unavailable' as const, reason: 'database_unreachable' as const };
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
    ['active_runs', 'Runs that are running.', row.runs],
    [
      'journal_horizon_age_seconds',
      'Age of the first committed event that an open transaction still holds back from readers.',
      row.horizon_age_seconds,
    ],
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
