import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import type { AuditKey } from './audit-key.ts';
import { chainStart, type Head, linkHmac, makeLink, recordsPerLinkMax, startHmac } from './chain.ts';
import type { HeadKeeper } from './head-file.ts';
import type { RunRow, SealRow } from './seal.ts';
import {
  findContents,
  findHeads,
  findLastDrawn,
  findLastSeal,
  findOverallHead,
  findSealEnding,
  findSealedThrough,
  findSettledAudits,
  findStarts,
  findUnsealedRuns,
  insertSeals,
  insertStart,
  lockSealing,
} from './seals.sql.ts';

/**
 * The number of records that are read and sealed in one transaction, which takes a few milliseconds and at most some
 * megabytes.
 */
const recordsPerBatchMax = 4096;
const intervalMs = 1000;
const headLogIntervalMs = 3_600_000;
const refusalLogIntervalMs = 60_000;

/**
 * Adds settled records to the chain of their tenant, in the background: no request waits for it. Several processes may
 * run a sealer; a lock lets only one seal at a time.
 */
export class Sealer {
  readonly #pool: Pool;
  readonly #key: AuditKey;
  readonly #heads: HeadKeeper;
  readonly #log: Logger;
  /** The settled number at the last time when nothing was left to seal; initially less than any number. */
  #done = -1;
  #refusalLoggedAt = Number.NEGATIVE_INFINITY;
  #loggedThrough = 0;

  constructor(pool: Pool, key: AuditKey, heads: HeadKeeper, log: Logger) {
    this.#pool = pool;
    this.#key = key;
    this.#heads = heads;
    this.#log = log;
  }

  /**
   * Seals all settled records, in batches. Does nothing while another process holds the lock. Ends after the first
   * batch that isn't full: under load new records always arrive, and sealing 60 small batches per second slowed
   * exchanges down by 5 %.
   */
  async seal(stopping?: AbortSignal): Promise<void> {
    while (stopping?.aborted !== true) {
      const settled = (await this.#pool.row(findSettledAudits()))?.settled ?? 0;
      if (settled === this.#done) return;
      const sealed = await this.#pool.transaction((tx) => this.#sealBatch(tx, settled));
      if (sealed === undefined) return;
      if (sealed.last !== undefined) await this.#heads.keep(sealed.last);
      if (sealed.records < recordsPerBatchMax) {
        this.#done = settled;
        return;
      }
    }
  }

  /**
   * Logs one hash over the ends of all chains. If the log is stored elsewhere, it shows whether a chain was truncated
   * later.
   * @returns false if nothing has been sealed since the last time
   */
  async logHead(): Promise<boolean> {
    const through = (await this.#pool.row(findSealedThrough()))?.last ?? 0;
    if (through <= this.#loggedThrough) return false;
    this.#loggedThrough = through;
    const head = await this.#pool.row(findOverallHead(through));
    const anchor = `${through}:${head?.hash}`;
    this.#log.info(
      { tenants: head?.tenants, anchor },
      'the audit log is sealed; `baton identity audit verify --anchor` checks this anchor',
    );
    return true;
  }

  /**
   * @returns the number of sealed records, and the last link; undefined if nothing can be sealed, or another process is
   * sealing
   */
  async #sealBatch(
    tx: Db,
    settled: number,
  ): Promise<{ records: number; last: SealRow | undefined } | undefined> {
    if ((await tx.row(lockSealing()))?.held !== true) return undefined;
    const before = await tx.row(findLastSeal());
    const refusal = await this.#refusal(tx, before);
    if (refusal !== undefined) return this.#refuse(refusal, before);
    if (this.#heads.head === undefined) await this.#start(tx);
    const runs = await tx.rows(
      findUnsealedRuns(before?.last_sequence ?? 0, settled, recordsPerBatchMax, recordsPerLinkMax),
    );
    const links = await this.#makeLinks(tx, runs);
    if (links.length > 0) await tx.run(insertSeals(links));
    return {
      records: runs.reduce((sum, { records }) => sum + records, 0),
      last: links.reduce((a, b) => (a !== undefined && a.last_sequence > b.last_sequence ? a : b), before),
    };
  }

  /**
   * The fault at the end of the chain. Without this check, later links would hide that earlier records may have been
   * replaced.
   */
  async #refusal(tx: Db, last: SealRow | undefined): Promise<string | undefined> {
    const { head } = this.#heads;
    if (head !== undefined) {
      const found = last?.hmac === head.hmac ? last : await tx.row(findSealEnding(head.lastSequence));
      if (found?.hmac !== head.hmac)
        return 'the last link that identity made is missing: the audit log was truncated, or the database was restored';
    }
    // A link that was made with an earlier key can't be checked here; `verify` checks it with that key.
    const isForged = last?.key_id === this.#key.id && linkHmac(this.#key, last) !== last.hmac;
    return isForged ? 'the last link of the audit log is not ours' : undefined;
  }

  #refuse(what: string, last: SealRow | undefined): undefined {
    if (performance.now() - this.#refusalLoggedAt < refusalLogIntervalMs) return undefined;
    this.#refusalLoggedAt = performance.now();
    this.#log.error(
      { kept: this.#heads.head, foundThrough: last?.last_sequence ?? 0, headFile: this.#heads.file },
      `${what}; nothing more is sealed until an operator has checked it, removed the file of the head, and restarted identity`,
    );
    return undefined;
  }

  /** Happens once per database: earlier records have no HMAC, and all later records need one. */
  async #start(tx: Db): Promise<void> {
    if ((await tx.rows(findStarts())).length > 0) return;
    const through = (await tx.row(findLastDrawn()))?.last ?? 0;
    await tx.run(insertStart({ through, hmac: startHmac(this.#key, through), key_id: this.#key.id }));
  }

  async #makeLinks(tx: Db, runs: readonly RunRow[]): Promise<SealRow[]> {
    if (runs.length === 0) return [];
    const heads = new Map<string, Head>(
      (await tx.rows(findHeads([...new Set(runs.map(({ tenant_id }) => tenant_id))]))).map((head) => [
        head.tenant_id,
        head,
      ]),
    );
    const contents = await tx.rows(
      findContents(
        runs.map(({ tenant_id, first_sequence, last_sequence, records }) => ({
          tenant_id,
          after: first_sequence - 1,
          through: last_sequence,
          records,
        })),
      ),
    );
    return runs.map((run, index) => {
      const content = contents[index];
      if (content?.records !== run.records)
        throw new Error('the records changed while they were being sealed');
      const link = makeLink(this.#key, heads.get(run.tenant_id) ?? chainStart, run, content);
      heads.set(run.tenant_id, link);
      return link;
    });
  }
}

/**
 * Seals about every second, and logs the head at most once an hour.
 * @returns a function that stops it, after the current batch
 */
export function startSealing(pool: Pool, key: AuditKey, heads: HeadKeeper, log: Logger): () => Promise<void> {
  const sealer = new Sealer(pool, key, heads, log);
  let headLoggedAt = 0;
  const stop = startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'the audit log could not be sealed',
    async work(stopping) {
      await sealer.seal(stopping);
      if (Date.now() - headLoggedAt < headLogIntervalMs) return;
      // The first run may find nothing to log; that must not delay the first anchor for an hour.
      if (await sealer.logHead()) headLoggedAt = Date.now();
    },
  });
  return async () => {
    await stop();
    // The last records are sealed before identity stops.
    await sealer
      .seal()
      .catch((err: unknown) => log.warn({ err }, 'the last audit records could not be sealed'));
  };
}
