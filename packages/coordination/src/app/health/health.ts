import type { Registry } from 'prom-client';
import { type Db, type Pool, sqlState } from '@baton/kernel/database/db';
import { within } from '@baton/kernel/limits/within';
import type { Logger } from '@baton/kernel/process/log';
import { type Counters, openCircuitsOf } from '../../service/counters.ts';
import { EpochWatch } from './epoch-watch.ts';
import { createGauges } from './gauges.ts';
import { findRevision } from './health.sql.ts';
import { HorizonWatch } from './horizon.ts';
import type { Readiness } from './readiness.ts';

/** Readiness and metrics of this process and its database. See docs/reference/README.md#service-endpoints. */
export interface Health {
  readiness(): Promise<Readiness>;
  /** All metrics in the text exposition format. */
  exposition(): Promise<string>;
  /** Counts a refused cursor of another history. */
  refusedCursor(): void;
}

/** The text exposition format, the content type of `/metrics`. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * How long a readiness probe waits. It is repeated soon, and must not wait for an exhausted pool or an unresponsive
 * database.
 */
const readinessWaitMs = 3000;

const undefinedTable = '42P01';

/** @param headRevision the newest migration that this program contains */
export function createHealth(options: {
  db: Pool;
  registry: Registry;
  counters: Pick<Counters, 'journalCursorsRefused' | 'contextCircuits'>;
  headRevision: number;
  log: Logger;
}): Health {
  const { db, registry, headRevision, log } = options;
  const horizon = new HorizonWatch(db, log);
  const epoch = new EpochWatch(db, log, options.counters.journalCursorsRefused);
  const gauges = createGauges(db, log);

  /**
   * The transaction that delays readers, a change of the journal's epoch, and open circuits to the memory service.
   */
  async function detailOf() {
    const [horizonHolder, journalEpoch] = await Promise.all([horizon.holder(), epoch.detail()]);
    const circuitsOpen = openCircuitsOf(options.counters.contextCircuits);
    if (horizonHolder === undefined && journalEpoch === undefined && circuitsOpen === 0) return undefined;
    return {
      ...(horizonHolder && { horizonHolder }),
      ...(journalEpoch && { journalEpoch }),
      ...(circuitsOpen > 0 && { memory: { circuitsOpen } }),
    };
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
      log.warn({ err: error }, 'not ready: the database is unreachable');
      return { status: 'unavailable', reason: 'database_unreachable' };
    }
  }

  return {
    readiness,
    refusedCursor: () => epoch.refusedCursor(),
    async exposition() {
      const [counters, ofGauges] = await Promise.all([registry.metrics(), gauges.text()]);
      return `${counters}\n${ofGauges}`;
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
