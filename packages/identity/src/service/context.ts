import type { Db, Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { AuditDraft } from '../records/audit.ts';
import type { Caller } from '../app/caller.ts';
import type { Settings } from './config.ts';
import type { Counters } from './counters.ts';
import type { FailureLimits } from '../credentials/failure-limits/failure-limits.ts';
import type { EventDraft } from '../records/journal/journal.ts';
import type { JournalWatch } from '../records/journal/journal-watch.ts';
import type { ProviderKeys } from '../sign-in/identity-providers/provider-keys.ts';
import type { PresentedLookup } from '../issuing/presented/presented-lookup.ts';
import type { SigningKeys } from '../issuing/signing-keys/signing-keys.ts';
import type { ExchangeLedger } from '../issuing/token-exchange/exchange-ledger.ts';
import type { ClientLookup } from '../issuing/tokens/client-lookup.ts';
import type { UpstreamDirectory } from '../provisioning/upstream-directory/upstream-directory.ts';

/** What a handler works with: who asks, the store (in the command's transaction), and what is to be recorded. */
export interface Context {
  /** The transaction of a command; the pool where the endpoint has none. */
  readonly db: Db;
  /** For a handler that asks the network first and then needs a transaction of its own. */
  readonly pool: Pool;
  readonly caller: Caller;
  readonly settings: Settings;
  readonly signingKeys: SigningKeys;
  readonly providerKeys: ProviderKeys;
  readonly upstream: UpstreamDirectory;
  readonly presentedTokens: PresentedLookup;
  readonly clients: ClientLookup;
  readonly ledger: ExchangeLedger;
  readonly failureLimits: FailureLimits;
  readonly journalWatch: JournalWatch;
  readonly counters: Counters;
  readonly log: Logger;
  readonly endpoint: string;
  readonly requestId: string;
  /** Where the request came from: the peer of its connection. */
  readonly address: string;
  /** Calls the listener when nobody reads the answer any more, at the latest once it is sent. */
  readonly whenGone: (listener: () => void) => void;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Written in one statement just before the commit; filled by `emit` only. */
  readonly events: EventDraft[];
  /** Written in the same statement; filled by `audit` only. */
  readonly audits: AuditDraft[];
}
