import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Caller } from './caller.ts';
import type { Counters } from './counters.ts';

/** What every handler works with; a layer adds its own settings and tools in a `context.ts` of its own. */
export interface Context {
  readonly db: Db;
  /** Whether `db` is the transaction of a command; else each statement is its own. */
  readonly transactional: boolean;
  readonly caller: Caller;
  readonly tenantId: string;
  readonly log: Logger;
  readonly counters: Counters;
  readonly endpoint: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly traceRunId: string;
  /** The Idempotency-Key of the request, without blanks around it; null without one. */
  readonly idempotencyKey: string | null;
  /** The If-None-Match of the request. */
  readonly ifNoneMatch: string | undefined;
  /** Runs after the commit; must not throw. */
  readonly afterCommit: (() => void)[];
}
