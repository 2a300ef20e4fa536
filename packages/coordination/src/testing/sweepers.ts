import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { createPool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { openSecretStore } from '../access/secret-store/open-secret-store.ts';
import { openAuthorities } from '../app/authz/authorization.ts';
import { type WorkerTools, workerTools } from '../app/background.ts';
import { createHealth } from '../app/health/health.ts';
import { readCoordinationSettings } from '../app/settings.ts';
import { finishEndings } from '../execution/sweeper/sweeper.ts';
import { openGateway } from '../memory/gateway/gateway.ts';
import { openContentStore } from '../results/contents/open-store.ts';
import { createCounters } from '../service/counters.ts';
import type { TestCoordination } from './coordination.ts';
import { until } from './wait-until.ts';

/**
 * The tools of a worker's jobs, so that a test can run them at will.
 * @param logged receives the lines of the log
 */
export function makeWorkerTools(
  baton: TestCoordination,
  logged: string[] = [],
): { tools: WorkerTools; close(): Promise<void> } {
  const settings = readCoordinationSettings(baton.env);
  const registry = new Registry();
  const log = createLog({
    name: 'worker',
    level: 'error',
    destination: { write: (line) => void logged.push(line) },
  });
  const pool = createPool({
    url: baton.databaseUrl,
    connectionsMax: 3,
    applicationName: 'test-worker',
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 10_000,
    onError: () => undefined,
  });
  const counters = createCounters(registry);
  const tools = workerTools({
    settings,
    log,
    counters,
    authorities: openAuthorities({ settings, registry, pool }),
    pool,
    contents: openContentStore(settings),
    identityAdministration: undefined,
    memory: openGateway(settings, counters),
    secrets: openSecretStore(settings),
    health: createHealth({ db: pool, registry, counters, headRevision: 1, log }),
    wake: () => undefined,
    publishBindingChange: () => undefined,
  });
  return { tools, close: () => pool.close() };
}

/**
 * Runs the worker's part of disabling principals and closing sessions. It immediately ends all entries that no other
 * transaction has locked; a transaction that is committing releases its principal a moment before its session.
 */
export async function finishAllEndings(baton: TestCoordination): Promise<void> {
  const isDone = async () => (await baton.pool.row(sql`select id from endings limit 1`)) === undefined;
  if (await isDone()) return;
  const { tools, close } = makeWorkerTools(baton);
  try {
    const job = finishEndings(tools);
    await until(async () => (await job.run()) === 0 && (await isDone()), 'the end of all endings');
  } finally {
    await close();
  }
}

/**
 * Accepts the error of a job that runs while a principal is being disabled: the disable ends the connection of a
 * transaction that it has waited for 600 ms for.
 * @throws AssertionError for any other error
 */
export function requireLostConnection(error: Error): void {
  assert.match(error.message, /terminat|connection error/i);
}
