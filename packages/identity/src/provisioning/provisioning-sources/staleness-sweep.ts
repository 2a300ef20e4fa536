import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { AuditDraft } from '../../records/drafts.ts';
import { startJob } from '../../service/background-job.ts';
import { flushRecords } from '../../records/journal/journal.ts';
import type { EventDraft } from '../../records/drafts.ts';
import { detectStaleSources } from './provisioning-sources.ts';

const intervalMs = 60_000;

/**
 * Looks every minute for sources that have fallen silent (contract, section 11), so that nobody has to list them for it.
 * Any number of processes may do so: each episode is recorded once.
 * @returns what ends it, after the look under way
 */
export function startStalenessSweep(pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'silent provisioning sources could not be looked for',
    work: () => sweepStaleSources(pool),
  });
}

/** One look over all tenants. */
export async function sweepStaleSources(pool: Pool): Promise<void> {
  await pool.transaction(async (db) => {
    const work = {
      db,
      caller: { actor: 'monitor' },
      requestId: 'staleness-sweep',
      endpoint: 'staleness sweep',
      events: [] as EventDraft[],
      audits: [] as AuditDraft[],
    };
    await detectStaleSources(work, null);
    await flushRecords(work);
  });
}
