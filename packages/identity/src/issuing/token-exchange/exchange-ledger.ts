import type { Db } from '@baton/kernel/db';
import type { AuditDraft } from '../../records/drafts.ts';
import { recordExchanges } from './exchange-ledger.sql.ts';
import { SharedStatement } from './shared-statement.ts';

export interface LedgerEntry {
  readonly audit: AuditDraft;
  /** The token or service account whose last use is to be noted. */
  readonly used?: readonly ['platform_access_token' | 'service_account', string] | undefined;
}

/**
 * Writes the audit rows of exchanges that happen at the same time in one insert that each of them awaits: durable, and
 * one round trip for many.
 */
export class ExchangeLedger {
  readonly #inserts: SharedStatement<LedgerEntry, void>;

  constructor(db: Db) {
    this.#inserts = new SharedStatement(async (entries) => {
      await db.run(recordExchanges(entries));
      return [];
    });
  }

  /**
   * Resolves when the entry is committed.
   * @throws Refusal `unavailable` when too many wait already
   */
  record(entry: LedgerEntry): Promise<void> {
    return this.#inserts.call(entry);
  }

  /** Entries that wait for the next insert. */
  get waiting(): number {
    return this.#inserts.waiting;
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#inserts.idle();
  }
}
