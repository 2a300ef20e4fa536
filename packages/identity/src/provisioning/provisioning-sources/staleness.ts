import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { type Auditing, audit } from '../../records/audit.ts';
import type { AuditKey } from '../../records/audit-chain/audit-key.ts';
import type { AuditDraft, EventDraft } from '../../records/drafts.ts';
import { type Emitting, emit, flushRecords } from '../../records/journal/journal.ts';
import { startJob } from '../../service/background-job.ts';
import type { Context } from '../context.ts';
import { provisioningSourceStale } from './provisioning-sources.events.ts';
import { updateStaleSources } from './provisioning-sources.sql.ts';

const intervalMs = 60_000;

/**
 * Looks every minute for sources that have become stale (contract, section 11). Any number of processes may do so: each
 * episode is recorded once.
 * @returns what ends it, after the run in progress
 */
export function startStalenessSweep(
  pool: Pool,
  auditKey: AuditKey | undefined,
  log: Logger,
): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'stale provisioning sources could not be looked for',
    work: () => sweepStaleSources(pool, auditKey),
  });
}

/** One run over all tenants. */
export async function sweepStaleSources(pool: Pool, auditKey?: AuditKey): Promise<void> {
  await pool.transaction(async (db) => {
    const work = {
      db,
      auditKey,
      caller: { actor: 'monitor' },
      requestId: 'staleness-sweep',
      endpoint: 'staleness sweep',
      events: [] as EventDraft[],
      audits: [] as AuditDraft[],
    };
    await recordStaleSources(work, null);
    await flushRecords(work);
  });
}

/** Records the sources that have become stale, once per episode. @param tenantId null for all tenants */
export async function recordStaleSources(
  context: Auditing & Emitting & Pick<Context, 'db'>,
  tenantId: string | null,
): Promise<void> {
  for (const source of await context.db.rows(updateStaleSources(tenantId))) {
    const about = { tenantId: source.tenant_id, aggregateId: source.id };
    emit(context, provisioningSourceStale, about, {
      provisioningSourceId: source.id,
      key: source.key,
      staleAfterSeconds: source.stale_after_seconds,
      lastSyncAt: source.last_sync_at,
    });
    audit(context, {
      tenantId: source.tenant_id,
      action: 'provisioning_sources.stale_detected',
      resource: ['provisioning_source', source.id],
      outcome: 'denied',
      reason: `source:${source.key}`,
      actor: 'monitor',
    });
  }
}
