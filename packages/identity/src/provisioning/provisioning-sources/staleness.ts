import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { type Auditing, audit } from '../../records/audit.ts';
import type { AuditKey } from '../../records/audit-chain/audit-key.ts';
import type { AuditDraft, EventDraft } from '../../records/drafts.ts';
import { type Emitting, emit, flushRecords } from '../../records/journal/journal.ts';
import { startJob } from '../../service/background-job.ts';
import { isBlamable } from '../../service/blamable.ts';
import type { Context } from '../context.ts';
import { provisioningSourceStale } from './provisioning-sources.events.ts';
import { findSilentSourceAfter, updateStaleSources } from './provisioning-sources.sql.ts';

const intervalMs = 60_000;
/** The maximum number of unrecorded sources that the log lists. */
const namedMax = 10;

/**
 * Searches every minute for sources that have become stale (see docs/reference/scim.md#sources). Any number of
 * processes may do so: each stale period is recorded once.
 * @returns a function that stops the search, after the run in progress
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
    failure: 'stale provisioning sources could not be searched',
    work: () => sweepStaleSources(pool, auditKey),
  });
}

/**
 * One run over all tenants.
 * @throws Error that lists the sources that could not be recorded; the others are recorded
 */
export async function sweepStaleSources(pool: Pool, auditKey?: AuditKey): Promise<void> {
  try {
    await recordInTransaction(pool, auditKey, null);
  } catch (error) {
    if (!isBlamable(error)) throw error;
    await recordOneByOne(pool, auditKey);
  }
}

async function recordInTransaction(
  pool: Pool,
  auditKey: AuditKey | undefined,
  sourceId: string | null,
): Promise<void> {
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
    await recordStaleSources(work, null, sourceId);
    await flushRecords(work);
  });
}

/**
 * If the database rejects one of the sources, each is tried on its own, so that only the rejected ones remain
 * unrecorded.
 */
async function recordOneByOne(pool: Pool, auditKey: AuditKey | undefined): Promise<void> {
  const refused: string[] = [];
  let cause: unknown;
  let next = await pool.row(findSilentSourceAfter(null));
  while (next !== undefined) {
    const { id } = next;
    try {
      await recordInTransaction(pool, auditKey, id);
    } catch (error) {
      if (!isBlamable(error)) throw error;
      if (refused.length < namedMax) refused.push(id);
      cause = error;
    }
    next = await pool.row(findSilentSourceAfter(id));
  }
  if (cause !== undefined)
    throw new Error(`the database rejects the records of the sources ${refused.join(', ')}`, { cause });
}

/**
 * Records the sources that have become stale, once per stale period.
 * @param tenantId null for all tenants
 * @param sourceId null for all sources
 */
export async function recordStaleSources(
  context: Auditing & Emitting & Pick<Context, 'db'>,
  tenantId: string | null,
  sourceId: string | null = null,
): Promise<void> {
  for (const source of await context.db.rows(updateStaleSources(tenantId, sourceId))) {
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
