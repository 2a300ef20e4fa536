import type { Pool } from '@baton/kernel/database/db';
import { retryTransaction } from '@baton/kernel/http/command';
import type { Logger } from '@baton/kernel/process/log';
import { newTraceHex } from '@baton/values/ids';
import { openIdentityAdministration } from '../access/identity-administration-tokens/identity-client.ts';
import { Differences } from '../access/policy/differences.ts';
import { openSecretStore } from '../access/secret-store/open-secret-store.ts';
import { flushEvents } from '../ledger/journal/journal.ts';
import { openGateway } from '../memory/gateway/gateway.ts';
import { openContentStore } from '../results/contents/open-store.ts';
import { nobody } from '../service/caller.ts';
import type { JobTools } from '../service/job.ts';
import { openAuthorities } from './authz/authorization.ts';
import { runWithDecisions } from './authz/run-with-decisions.ts';
import { type Context, contextOf, finishCommand, type Tools } from './context.ts';
import type { Health } from './health/health.ts';
import type { Measures } from './health/measures.ts';
import { Notifier } from './notifier/notifier.ts';
import type { Settings } from './settings.ts';
import { openStore } from './store.ts';

export type WorkerTools = JobTools<Context> &
  Pick<Context, 'contents' | 'memory' | 'secrets' | 'identityAdministration'>;

/** The context of a process that serves no requests. */
export interface BackgroundParts extends Omit<Tools, 'differences'> {
  readonly pool: Pool;
  /** Creates the authorities of a command's identities; undefined if local permissions decide. */
  readonly authorities: (() => NonNullable<Context['authorities']>) | undefined;
  /** Notifies readers of the tenant's journal in other processes. */
  wake(tenantId: string): void;
}

/** Opens the resources of a process without requests: the worker, and the operator's commands. */
export async function openBackground(
  settings: Settings,
  log: Logger,
  applicationName: string,
  measures?: Measures,
): Promise<{ tools: WorkerTools; health: Health; close(): Promise<void> }> {
  const secrets = openSecretStore(settings);
  const identityAdministration = openIdentityAdministration(settings);
  const { pool, registry, counters, health } = await openStore(settings, log, applicationName, measures);
  const notifier = new Notifier({ pool, log });
  const contents = openContentStore(settings);
  const tools = workerTools({
    settings,
    log,
    counters,
    health,
    contents,
    secrets,
    identityAdministration,
    memory: openGateway(settings, counters),
    publishBindingChange: (issuer, iamPrincipalId) => notifier.announceBinding(issuer, iamPrincipalId),
    authorities: openAuthorities({ settings, registry, pool }),
    pool,
    wake: (tenantId) => notifier.announceJournal(tenantId),
  });
  return {
    tools,
    health,
    async close() {
      contents?.close();
      await notifier.close();
      await pool.close();
    },
  };
}

/**
 * The maximum number of repetitions of a command for missing decisions: enough for two permissions on the objects of
 * each rule.
 */
const roundsMax = 1000;

export function workerTools({ pool, wake, authorities, ...parts }: BackgroundParts): WorkerTools {
  // Comparisons are made for requests only, so these differences remain empty.
  const tools: Tools = { ...parts, differences: new Differences() };
  const traceRunId = `run_${newTraceHex()}`;
  return {
    settings: tools.settings,
    log: tools.log,
    counters: tools.counters,
    contents: tools.contents,
    memory: tools.memory,
    secrets: tools.secrets,
    identityAdministration: tools.identityAdministration,
    pool,
    async command(job, tenantId, work) {
      const origin = {
        caller: { ...nobody, tenantId },
        endpoint: `worker ${job}`,
        requestId: 'worker',
        correlationId: `worker-${job}`,
        traceRunId,
        authorities: authorities?.(),
      };
      const once = () =>
        pool.transaction(async (tx) => {
          const context = contextOf(tools, origin, tx, true);
          const result = await work(context);
          await flushEvents(context);
          return { context, result };
        });
      const { context, result } = await runWithDecisions(undefined, () => retryTransaction(once), roundsMax);
      finishCommand(context, wake);
      return result;
    },
  };
}
