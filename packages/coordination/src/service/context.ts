import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Caller } from './caller.ts';
import type { Counters } from './counters.ts';

/** The context of every handler; a layer adds its own settings and tools in its own `context.ts`. */
export interface Context {
  readonly db: Db;
  /** Whether `db` is the transaction of a command; otherwise each statement runs in its own transaction. */
  readonly transactional: boolean;
  readonly caller: Caller;
  readonly tenantId: string;
  readonly log: Logger;
  readonly counters: Counters;
  readonly endpoint: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly traceRunId: string;
  /** The request's Idempotency-Key without leading or trailing blanks; null if the request has none. */
  readonly idempotencyKey: string | null;
  /** The If-None-Match of the request. */
  readonly ifNoneMatch: string | undefined;
  /** Runs after the commit; must not throw. */
  readonly afterCommit: (() => void)[];
}
