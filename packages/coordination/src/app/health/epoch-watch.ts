import type { Counter } from 'prom-client';
import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Job } from '../../service/job.ts';
import { findLastEpoch } from './epoch.sql.ts';
import type { JournalEpoch } from './readiness.ts';

const warnedAgainMs = 60_000;
const jobEveryMs = 5000;

/** Reports that the journal continues in a new epoch, and that readers of a lost history have appeared. */
export class EpochWatch {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #refusals: Counter;
  #cursorsRefused = 0;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(db: Db, log: Logger, refusals: Counter) {
    this.#db = db;
    this.#log = log;
    this.#refusals = refusals;
  }

  refusedCursor(): void {
    this.#refusals.inc();
    this.#cursorsRefused += 1;
    const now = performance.now();
    if (now - this.#warnedAtMs < warnedAgainMs) return;
    this.#warnedAtMs = now;
    this.#log.warn(
      { cursorsRefused: this.#cursorsRefused },
      'a reader of the journal has read a history that this database does not have: events written since its backup, or since its standby had caught up, are lost',
    );
  }

  /** The current epoch, for a day after a failover or a restore, and once a reader of another history has appeared. */
  async detail(): Promise<JournalEpoch | undefined> {
    const last = await this.#db.row(findLastEpoch());
    const isTold = this.#cursorsRefused > 0 || (last?.is_recent === true && last.reason !== 'restart');
    if (!isTold) return undefined;
    return {
      beganAt: last?.began_at ?? null,
      reason: last?.reason ?? null,
      cursorsRefused: this.#cursorsRefused,
    };
  }
}

export function logEpoch(log: Logger, reason: string | undefined): void {
  if (reason === undefined) return;
  if (reason === 'restart')
    log.info('the database server was restarted: journal positions continue above all earlier ones');
  else
    log.warn(
      { reason },
      'the database was restored, or runs in another cluster: journal positions continue above all earlier ones',
    );
}

/** Behind a pooler, a command's statement begins a new epoch without logging it, so this job logs it. */
export function watchEpoch({ pool, log }: { pool: Db; log: Logger }): Job {
  let known: number | undefined;
  let nextAtMs = 0;
  return {
    name: 'watch epoch',
    batchMax: 1,
    async run() {
      if (performance.now() < nextAtMs) return 0;
      nextAtMs = performance.now() + jobEveryMs;
      const last = await pool.row(findLastEpoch());
      const epochs = last?.epochs ?? 0;
      if (known !== undefined && epochs > known) logEpoch(log, last?.reason);
      known = epochs;
      return 0;
    },
  };
}
