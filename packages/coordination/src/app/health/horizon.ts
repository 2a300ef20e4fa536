import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Job } from '../../service/job.ts';
import { findHorizonHolder } from './horizon.sql.ts';
import type { HorizonHolder } from './readiness.ts';

/** The database is queried at most once in this time, whatever the number of callers. */
const answerAgeMsMax = 1000;
/** Only transactions of at least this age are reported, so that commands of ordinary duration are not. */
const shownSecondsMin = 1;
const warnedSecondsMin = 5;
const warnedAgainMs = 60_000;
const jobEveryMs = 5000;

/** Finds the process whose open transaction delays the readers of the journal, and logs a warning. */
export class HorizonWatch {
  readonly #db: Db;
  readonly #log: Logger;
  #answer: { readonly askedAtMs: number; readonly holder: Promise<HorizonHolder | undefined> } | undefined;
  /** The time when this process first saw the same transaction, if its age can't be read. */
  #seen = { xid: 0, sinceMs: 0 };
  #warned = { xid: 0, atMs: 0 };

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /** Undefined if no transaction has delayed readers for 1 s, or if that can't be determined. */
  holder(): Promise<HorizonHolder | undefined> {
    const now = performance.now();
    if (this.#answer === undefined || now - this.#answer.askedAtMs > answerAgeMsMax) {
      const holder = this.#find().catch((error: unknown) => {
        this.#log.warn({ err: error }, 'the transaction that delays journal readers could not be determined');
        return undefined;
      });
      this.#answer = { askedAtMs: now, holder };
    }
    return this.#answer.holder;
  }

  async #find(): Promise<HorizonHolder | undefined> {
    const row = await this.#db.row(findHorizonHolder());
    if (row === undefined) return undefined;
    const now = performance.now();
    if (this.#seen.xid !== row.xid) this.#seen = { xid: row.xid, sinceMs: now };
    const ageSeconds = row.age_seconds ?? (now - this.#seen.sinceMs) / 1000;
    if (ageSeconds < shownSecondsMin) return undefined;
    const holder = { pid: row.pid, ageSeconds, database: row.database };
    if (ageSeconds >= warnedSecondsMin) this.#warn(row.xid, holder);
    return holder;
  }

  #warn(xid: number, holder: HorizonHolder): void {
    const now = performance.now();
    if (this.#warned.xid === xid && now - this.#warned.atMs < warnedAgainMs) return;
    this.#warned = { xid, atMs: now };
    this.#log.warn(
      holder,
      'an open transaction delays the readers of the journal; pg_terminate_backend(pid) ends it',
    );
  }
}

/** Logs the warning even if no client queries the readiness of the service. */
export function watchHorizon({ pool, log }: { pool: Db; log: Logger }): Job {
  const watch = new HorizonWatch(pool, log);
  let nextAtMs = 0;
  return {
    name: 'watch horizon',
    batchMax: 1,
    async run() {
      if (performance.now() < nextAtMs) return 0;
      nextAtMs = performance.now() + jobEveryMs;
      await watch.holder();
      return 0;
    },
  };
}
