import type { Db } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { EventDraft } from '../ledger/journal/journal.ts';
import type { Caller } from '../access/authn/caller.ts';
import type { Settings } from './config.ts';
import type { Counters } from './counters.ts';
import type { Health } from '../app/health/health.ts';

/** What a handler works with: who asks, the store (in the command's transaction), and the journal of this change. */
export interface Context {
  readonly db: Db;
  /** Whether `db` is the transaction of a command; else each statement is its own. */
  readonly transactional: boolean;
  readonly caller: Caller;
  readonly tenantId: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly counters: Counters;
  readonly health: Health;
  readonly endpoint: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly traceRunId: string;
  /** Events of this change so far; written in one statement before the commit. Filled by `emit` only. */
  readonly drafts: EventDraft[];
  /** Set by a statement that wrote its events itself, so that readers are woken. */
  wroteEvents: boolean;
  /** Runs after the commit; must not throw. */
  readonly afterCommit: (() => void)[];
  /**
   * Tells every process that what it remembers of an identity is out of date: its binding or its principal changed.
   * Call it in `afterCommit`.
   */
  publishBindingChange(issuer: string, iamPrincipalId: string): void;
}
