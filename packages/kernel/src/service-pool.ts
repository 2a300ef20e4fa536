import { createPool, type Pool, type PoolOptions } from './db.ts';
import type { Logger } from './log.ts';

type Own = 'url' | 'listenUrl' | 'connectionsMax' | 'applicationName' | 'onConnect';

export interface ServicePoolOptions extends Pick<PoolOptions, Own> {
  readonly log: Logger;
  /** The longest that a statement may run, or wait for a lock. */
  readonly statementTimeoutSeconds: number;
  /** How long a transaction may be silent before it is rolled back. */
  readonly idleInTransactionSeconds: number;
}

/** Opens the pool of a service by its settings. A lost connection is logged. */
export function createServicePool({
  log,
  statementTimeoutSeconds,
  idleInTransactionSeconds,
  ...options
}: ServicePoolOptions): Pool {
  return createPool({
    ...options,
    statementTimeoutMs: statementTimeoutSeconds * 1000,
    lockTimeoutMs: statementTimeoutSeconds * 1000,
    idleInTransactionTimeoutMs: idleInTransactionSeconds * 1000,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
}
