import { Registry } from 'prom-client';
import { createPool } from '@baton/kernel/database/db';
import { createLog } from '@baton/kernel/process/log';
import type { OperatorTools } from '../../access/operator-command.ts';
import { openSecretStore } from '../../access/secret-store/open-secret-store.ts';
import { workerTools } from '../../app/background.ts';
import { createHealth } from '../../app/health/health.ts';
import { readCoordinationSettings } from '../../app/settings.ts';
import { createCounters } from '../../service/counters.ts';
import type { TestCoordination } from '../coordination.ts';

/** The operator on the host of a running service, who has the service's settings and store, but no credential. */
export interface Operator {
  readonly tools: OperatorTools;
  /** `<issuer> <iamPrincipalId>` of every identity that the processes should have dropped from their caches. */
  readonly forgotten: string[];
  close(): Promise<void>;
}

export function startOperator(baton: TestCoordination, env: Record<string, string> = {}): Operator {
  const settings = readCoordinationSettings({ ...baton.env, ...env });
  const log = createLog({ name: 'operator', level: 'error', sync: true });
  const registry = new Registry();
  const pool = createPool({
    url: baton.databaseUrl,
    connectionsMax: 2,
    applicationName: 'operator',
    statementTimeoutMs: 30_000,
    lockTimeoutMs: 30_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  const counters = createCounters(registry);
  const forgotten: string[] = [];
  const tools = workerTools({
    settings,
    log,
    counters,
    authorities: undefined,
    pool,
    contents: undefined,
    identityAdministration: undefined,
    memory: undefined,
    secrets: openSecretStore(settings),
    health: createHealth({ db: pool, registry, counters, headRevision: 0, log }),
    wake: () => undefined,
    publishBindingChange: (issuer, iamPrincipalId) => forgotten.push(`${issuer} ${iamPrincipalId}`),
  });
  return { tools, forgotten, close: () => pool.close() };
}
