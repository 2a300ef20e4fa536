import { isUnreachable } from '@baton/kernel/database/db';
import { createLog, type Logger } from '@baton/kernel/process/log';
import { followPresets } from '../access/access-roles/follow-presets.ts';
import { revokeLostAdministrations } from '../access/identity-administration-tokens/revoke-lost.ts';
import { deleteSecretLeftovers } from '../access/secret-store/leftovers.ts';
import { continueCascades } from '../execution/control-messages/cascades.ts';
import { blockExhaustedTasks } from '../execution/retries/exhausted-tasks.ts';
import { removeUnusedSets, tidyWorkQueue } from '../execution/sweeper/queue-tidier.ts';
import {
  expireDueClaims,
  expireDueSessions,
  finishEndings,
  recordStalledRuns,
} from '../execution/sweeper/sweeper.ts';
import { deleteAnsweredKeys } from '../ledger/idempotency/answered-keys.ts';
import { deliverOutbox } from '../ledger/outbox/outbox.ts';
import { applyPendingRetention } from '../ledger/retention/apply-retention.ts';
import { archiveOnSchedule } from '../ledger/retention/schedule.ts';
import { openSinks } from '../ledger/sinks/open-sinks.ts';
import type { Sink } from '../ledger/sinks/sink.ts';
import { finishWrites } from '../memory/knowledge/finish-writes.ts';
import { deleteOldNotifications } from '../notifications/delivery/old-deliveries.ts';
import { openNotificationSinks } from '../notifications/delivery/open-notifications.ts';
import { startDueDigests } from '../notifications/digests/digest-jobs.ts';
import {
  carryOutProcessOrders,
  fireProcessTimers,
  migrateInstances,
  processDueInstances,
  runProcesses,
  sendProcessRecalls,
} from '../processes/instances/process-jobs.ts';
import { deleteOldInstances } from '../processes/instances/retention/old-instances.ts';
import { expireDueConnections } from '../registry/connections/expire-connections.ts';
import { deleteUnreferencedContents } from '../results/contents/sweep.ts';
import { requeueExpiredCalls } from '../results/invocations/expired-leases.ts';
import { deleteOldInvocations } from '../results/invocations/retention/old-invocations.ts';
import { withdrawCalls } from '../results/invocations/withdraw-calls.ts';
import { executeDueOutcomes } from '../results/outcomes/outcome-job.ts';
import { deleteOldRefusedWrites } from '../results/statistics/refused-writes.ts';
import { evaluateDueAttempts } from '../results/verification/verification-job.ts';
import { deleteOldEvaluations, deleteOldWorkKeys } from '../rules/evaluations/retention/old-evaluations.ts';
import { continuePendingEvaluations, runRuleSchedules, runRules } from '../rules/evaluations/rule-jobs.ts';
import type { Job } from '../service/job.ts';
import { moveDueTasks, settleStarts } from '../work/available/due-tasks.ts';
import { synchronizeWorkQueue } from '../work/available/offers.ts';
import { openBackground, type WorkerTools } from './background.ts';
import { watchEpoch } from './health/epoch-watch.ts';
import { openHealthPort } from './health/health-port.ts';
import { watchHorizon } from './health/horizon.ts';
import type { Measures } from './health/measures.ts';
import { endRevokedSessions } from './revoked-sessions.ts';
import { readCoordinationSettings } from './settings.ts';

export interface Worker {
  /** Ends the pauses, waits for the running jobs and closes the pool. */
  close(): Promise<void>;
}

const jobMakers: readonly ((tools: WorkerTools) => Job)[] = [
  expireDueSessions,
  expireDueClaims,
  finishEndings,
  endRevokedSessions,
  recordStalledRuns,
  tidyWorkQueue,
  removeUnusedSets,
  synchronizeWorkQueue,
  moveDueTasks,
  settleStarts,
  blockExhaustedTasks,
  continueCascades,
  evaluateDueAttempts,
  requeueExpiredCalls,
  withdrawCalls,
  executeDueOutcomes,
  finishWrites,
  runRules,
  runRuleSchedules,
  continuePendingEvaluations,
  deleteOldEvaluations,
  deleteOldWorkKeys,
  deleteOldInvocations,
  runProcesses,
  fireProcessTimers,
  carryOutProcessOrders,
  processDueInstances,
  migrateInstances,
  sendProcessRecalls,
  deleteOldInstances,
  deleteAnsweredKeys,
  deleteOldRefusedWrites,
  deleteUnreferencedContents,
  expireDueConnections,
  revokeLostAdministrations,
  startDueDigests,
  deleteOldNotifications,
  deleteSecretLeftovers,
  archiveOnSchedule,
  applyPendingRetention,
  followPresets,
  watchHorizon,
  watchEpoch,
];

const backoffMsMax = 30_000;
/**
 * The longest pause while the database is unavailable: it may recover at any moment, and a failed query costs nothing.
 */
const unreachableMsMax = 1000;

/**
 * Starts every job of the worker; its only port is for monitoring (CP_WORKER_METRICS_PORT). Correctness doesn't depend
 * on a running worker: every use of a lease compares it with the database's clock.
 * @param options.env the documented settings (CP_*)
 * @param options.sinks sinks in addition to those of CP_SINKS_FILE
 * @param options.measures the process's metrics, if its parts share them
 * @throws Error with one sentence for invalid settings
 */
export async function startWorker(options: {
  env: Readonly<Record<string, string | undefined>>;
  log?: Logger;
  sinks?: readonly Sink[];
  measures?: Measures;
}): Promise<Worker> {
  const settings = readCoordinationSettings(options.env);
  const log = options.log ?? createLog({ name: 'worker', level: settings.CP_LOG_LEVEL });
  const { open, discarded } = await openSinks(settings.CP_SINKS_FILE, options.env, {
    log,
    timeoutMsMax: settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS * 500,
  });
  const { tools, health, close } = await openBackground(settings, log, 'baton-worker', options.measures);
  const watched = await openHealthPort({
    health,
    settings,
    port: settings.CP_WORKER_METRICS_PORT,
    setting: 'CP_WORKER_METRICS_PORT',
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const notifications = openNotificationSinks(tools);
  const sinks = {
    open: [...open, ...notifications.open, ...(options.sinks ?? [])],
    discarded: [...discarded, ...notifications.discarded],
  };
  const made = [...jobMakers.map((make) => make(tools)), ...deliverOutbox(tools, sinks)];
  const jobs = runJobs(made, { pauseMs: settings.CP_WORKER_POLL_INTERVAL_SECONDS * 1000, log });
  log.info({ jobs: made.map(({ name }) => name) }, 'the worker is running');
  return {
    async close() {
      await jobs.close();
      await Promise.all(made.map(async (job) => job.close?.()));
      await watched?.close();
      await close();
    },
  };
}

/** Runs each job in its own loop, so that a slow job doesn't delay others. */
export function runJobs(
  jobs: readonly Job[],
  { pauseMs, log }: { pauseMs: number; log: Logger },
): { close(): Promise<void> } {
  const stop = new AbortController();
  const loops = jobs.map((job) => repeat(job));
  return {
    async close() {
      stop.abort();
      await Promise.all(loops);
    },
  };

  async function repeat(job: Job): Promise<void> {
    let failures = 0;
    while (!stop.signal.aborted) {
      let waitMs = Math.min(pauseMs, job.pauseMsMax ?? pauseMs);
      try {
        const handled = await job.run();
        failures = 0;
        if (handled >= job.batchMax) waitMs = 0;
      } catch (error) {
        failures += 1;
        waitMs = isUnreachable(error)
          ? Math.min(pauseMs, unreachableMsMax)
          : Math.min(pauseMs * 2 ** failures, backoffMsMax);
        log.error({ err: error, job: job.name, failures, waitMs }, 'a job of the worker failed');
      }
      await pause(waitMs, stop.signal);
    }
  }
}

/** Even a pause of 0 ms lets the same process serve requests in between. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) return done();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
