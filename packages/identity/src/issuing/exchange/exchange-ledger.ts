import type { Db } from '@baton/kernel/database/db';
import type { AuditKey } from '../../records/audit-chain/audit-key.ts';
import { SharedStatement } from '../shared-statement.ts';
import { insertLedgerEntries, type LedgerEntry } from './exchanges.sql.ts';

export type { LedgerEntry } from './exchanges.sql.ts';

/**
 * Writes the audit rows of simultaneous exchanges in one insert, which each of these exchanges awaits: the rows are
 * durable, but many of them need only one round trip.
 */
export class ExchangeLedger {
  readonly #inserts: SharedStatement<LedgerEntry, void>;
  readonly #key: AuditKey | undefined;

  /** @param key authenticates each row; undefined if the settings specify none */
  constructor(db: Db, key: AuditKey | undefined) {
    this.#key = key;
    this.#inserts = new SharedStatement(async (entries) => {
      await db.run(insertLedgerEntries(entries, key));
      return [];
    });
  }

  /**
   * Resolves when the entry is committed.
   * @throws Refusal `unavailable` if too many entries are waiting already
   */
  record(entry: LedgerEntry): Promise<void> {
    return this.#inserts.call(entry);
  }

  /** Writes an entry in the caller's transaction, with changes that must not be committed without it. */
  recordInside(db: Db, entry: LedgerEntry): Promise<unknown> {
    return db.run(insertLedgerEntries([entry], this.#key));
  }

  /** The number of entries waiting for the next insert. */
  get waiting(): number {
    return this.#inserts.waiting;
  }

  /** Resolves when no entries are queued. */
  idle(): Promise<void> {
    return this.#inserts.idle();
  }
}
