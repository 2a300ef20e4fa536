import type { Db } from '@baton/kernel/db';
import type { AuditDraft } from '../audit.ts';
import { fail } from '../service.ts';
import { recordExchanges } from './exchange-ledger.sql.ts';

export interface LedgerEntry {
  readonly audit: AuditDraft;
  /** The token or service account whose last use is to be noted. */
  readonly used?: readonly ['platform_access_token' | 'service_account', string] | undefined;
}

interface Waiting {
  readonly entry: LedgerEntry;
  done(): void;
  failed(reason: unknown): void;
}

const batchEntriesMax = 500;
const waitingEntriesMax = 10_000;

/**
 * Writes the audit rows of exchanges that happen at the same time in one insert that each of them awaits: durable, and
 * one round trip for many. One insert is under way at a time; the rows that come meanwhile are the next batch.
 */
export class ExchangeLedger {
  readonly #db: Db;
  readonly #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  constructor(db: Db) {
    this.#db = db;
  }

  /**
   * Resolves when the entry is committed.
   * @throws Refusal `unavailable` when too many wait already
   */
  async record(entry: LedgerEntry): Promise<void> {
    if (this.#waiting.length >= waitingEntriesMax)
      fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    await new Promise<void>((done, failed) => {
      this.#waiting.push({ entry, done, failed });
      this.#writing ??= this.#write();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchEntriesMax);
      try {
        await this.#db.run(recordExchanges(batch.map(({ entry }) => entry)));
        for (const { done } of batch) done();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#writing = undefined;
  }
}
