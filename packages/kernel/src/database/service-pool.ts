import type { Logger } from '../process/log.ts';
import { createPool, type Pool, type PoolOptions } from './db.ts';

type Own = 'url' | 'listenUrl' | 'namedStatements' | 'connectionsMax' | 'applicationName' | 'onConnect';

export interface ServicePoolOptions extends Pick<PoolOptions, Own> {
  readonly log: Logger;
  /** How long a statement may run, and how long it may wait for a lock. */
  readonly statementTimeoutSeconds: number;
  /** How long a transaction may be idle before it is rolled back. */
  readonly idleInTransactionSeconds: number;
}

/**
 * The timeout for a connection. Together with the timeout of a statement (by default 11 s), a request to an unreachable
 * database ends within 15 s.
 */
const connectMsMax = 3000;

/** Opens the pool of a service with its settings. A lost connection is logged. */
export function createServicePool({
  log,
  statementTimeoutSeconds,
  idleInTransactionSeconds,
  ...options
}: ServicePoolOptions): Pool {
  return createPool({
    ...options,
    statementTimeoutMs: statementTimeoutSeconds * 1000,
    connectTimeoutMs: connectMsMax,
    // A command may wait for locks more than once, but not all of its statements may use their full timeout.
    transactionTimeoutMs: statementTimeoutSeconds * 3000,
    lockTimeoutMs: statementTimeoutSeconds * 1000,
    idleInTransactionTimeoutMs: idleInTransactionSeconds * 1000,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
}
