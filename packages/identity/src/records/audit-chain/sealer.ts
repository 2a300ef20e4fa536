import type { Db, Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { startJob } from '../../service/background-job.ts';
import type { AuditKey } from './audit-key.ts';
import { chainStart, type Head, makeLink, recordsPerLinkMax } from './chain.ts';
import {
  contentOf,
  headsOf,
  insertSeals,
  lockSealing,
  overallHead,
  type RunRow,
  type SealRow,
  sealedThrough,
  settledAudits,
  unsealedRuns,
} from './seals.sql.ts';

/** Read and sealed in one transaction: a few milliseconds, and some megabytes at most. */
const recordsPerBatchMax = 4096;
const intervalMs = 1000;
const headLogIntervalMs = 3_600_000;

/**
 * Fastens settled records to the chain of their tenant, behind the backs of those who write them: nobody waits for it.
 * Any number of processes may do so, one at a time seals.
 */
export class Sealer {
  readonly #pool: Pool;
  readonly #key: AuditKey;
  readonly #log: Logger;
  /** What was settled when nothing was left to seal. */
  #done = 0;
  /** The highest number that was sealed when we looked last. */
  #sealedThrough = 0;
  #loggedThrough = 0;

  constructor(pool: Pool, key: AuditKey, log: Logger) {
    this.#pool = pool;
    this.#key = key;
    this.#log = log;
  }

  /** Seals whatever is settled, in batches. While another process is at it, it is left to that one. */
  async seal(stopping?: AbortSignal): Promise<void> {
    while (stopping?.aborted !== true) {
      const settled = (await this.#pool.row(settledAudits()))?.settled ?? 0;
      if (settled === this.#done) return;
      const sealed = await this.#pool.transaction((tx) => this.#sealBatch(tx, settled));
      if (sealed === undefined) return;
      this.#sealedThrough = sealed.through;
      if (sealed.records < recordsPerBatchMax) this.#done = settled;
    }
  }

  /** One hash over the ends of all chains: where the log is kept elsewhere, a chain can't be cut unnoticed. */
  async logHead(): Promise<void> {
    const through = (await this.#pool.row(sealedThrough()))?.last ?? 0;
    if (through <= this.#loggedThrough) return;
    this.#loggedThrough = through;
    const head = await this.#pool.row(overallHead(through));
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
    const runs = await tx.rows(unsealedRuns(after, settled, recordsPerBatchMax, recordsPerLinkMax));
    const links = await this.#makeLinks(tx, runs);
    if (links.length > 0) await tx.run(insertSeals(links));
    return {
      records: runs.reduce((sum, { records }) => sum + records, 0),
      through: Math.max(after, ...runs.map(({ last_sequence }) => last_sequence)),
    };
  }

  /**
   * An end that was cut off shows only here and in anchors: what follows is sealed anew. So it has to be after the store
   * fell back to a standby that lagged behind, which looks the same.
   */
  async #readSealedThrough(tx: Db): Promise<number> {
    const last = (await tx.row(sealedThrough()))?.last ?? 0;
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
      (await tx.rows(headsOf([...new Set(runs.map(({ tenant_id }) => tenant_id))]))).map((head) => [
        head.tenant_id,
        head,
      ]),
    );
    const contents = await tx.rows(
      contentOf(
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
