import type { Db, Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { startJob } from '../../service/background-job.ts';
import type { AuditKey } from './audit-key.ts';
import { chainStart, type Head, makeLink, recordsPerLinkMax } from './chain.ts';
import type { RunRow, SealRow } from './seal.ts';
import {
  findContents,
  findHeads,
  findOverallHead,
  findSealedThrough,
  findSettledAudits,
  findUnsealedRuns,
  insertSeals,
  lockSealing,
} from './seals.sql.ts';

/** Read and sealed in one transaction: a few milliseconds, and some megabytes at most. */
const recordsPerBatchMax = 4096;
const intervalMs = 1000;
const headLogIntervalMs = 3_600_000;

/**
 * Adds settled records to the chain of their tenant, in the background: no request waits for it. Several processes may
 * run a sealer; a lock lets one at a time seal.
 */
export class Sealer {
  readonly #pool: Pool;
  readonly #key: AuditKey;
  readonly #log: Logger;
  /** The settled number at the last time when nothing was left to seal. */
  #done = 0;
  /** The highest sealed number that this process has seen. */
  #sealedThrough = 0;
  #loggedThrough = 0;

  constructor(pool: Pool, key: AuditKey, log: Logger) {
    this.#pool = pool;
    this.#key = key;
    this.#log = log;
  }

  /** Seals whatever is settled, in batches. Does nothing while another process holds the lock. */
  async seal(stopping?: AbortSignal): Promise<void> {
    while (stopping?.aborted !== true) {
      const settled = (await this.#pool.row(findSettledAudits()))?.settled ?? 0;
      if (settled === this.#done) return;
      const sealed = await this.#pool.transaction((tx) => this.#sealBatch(tx, settled));
      if (sealed === undefined) return;
      this.#sealedThrough = sealed.through;
      if (sealed.records < recordsPerBatchMax) this.#done = settled;
    }
  }

  /** Logs one hash over the ends of all chains. Where the log is kept elsewhere, it shows whether a chain was cut later. */
  async logHead(): Promise<void> {
    const through = (await this.#pool.row(findSealedThrough()))?.last ?? 0;
    if (through <= this.#loggedThrough) return;
    this.#loggedThrough = through;
    const head = await this.#pool.row(findOverallHead(through));
    const anchor = `${through}:${head?.hash}`;
    this.#log.info(
      { tenants: head?.tenants, anchor },
      'the audit record is sealed; `baton identity audit verify --anchor` checks this anchor',
    );
  }

  /** @returns how many records were sealed, and up to where; undefined when another process is sealing */
  async #sealBatch(tx: Db, settled: number): Promise<{ records: number; through: number } | undefined> {
    if ((await tx.row(lockSealing()))?.held !== true) return undefined;
    const after = await this.#readSealedThrough(tx);
    const runs = await tx.rows(findUnsealedRuns(after, settled, recordsPerBatchMax, recordsPerLinkMax));
    const links = await this.#makeLinks(tx, runs);
    if (links.length > 0) await tx.run(insertSeals(links));
    return {
      records: runs.reduce((sum, { records }) => sum + records, 0),
      through: Math.max(after, ...runs.map(({ last_sequence }) => last_sequence)),
    };
  }

  /**
   * Reads the last sealed number. A lower one than before means that the end of a chain was cut off, or that the database
   * fell back to a standby that lagged behind. It shows only here and in anchors, because what follows is sealed again.
   */
  async #readSealedThrough(tx: Db): Promise<number> {
    const last = (await tx.row(findSealedThrough()))?.last ?? 0;
    if (last < this.#sealedThrough)
      this.#log.error(
        { sealedThrough: this.#sealedThrough, foundThrough: last },
        'links of the audit record that were there are missing: it was cut, or the database was set back',
      );
    return last;
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
      if (content?.records !== run.records) throw new Error('the records to be sealed changed meanwhile');
      const link = makeLink(this.#key, heads.get(run.tenant_id) ?? chainStart, run, content);
      heads.set(run.tenant_id, link);
      return link;
    });
  }
}

/**
 * Seals about every second, and logs the head at most once an hour.
 * @returns what ends it, after the batch under way
 */
export function startSealing(pool: Pool, key: AuditKey, log: Logger): () => Promise<void> {
  const sealer = new Sealer(pool, key, log);
  let headLoggedAt = 0;
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'the audit record could not be sealed',
    async work(stopping) {
      await sealer.seal(stopping);
      if (Date.now() - headLoggedAt < headLogIntervalMs) return;
      headLoggedAt = Date.now();
      await sealer.logHead();
    },
  });
}
