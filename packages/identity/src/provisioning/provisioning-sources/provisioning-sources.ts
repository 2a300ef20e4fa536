import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import { audit, type Auditing } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import { emit, type Emitting } from '../../records/journal/journal.ts';
import { getPrincipal } from '../../directory/principals/principals.ts';
import { fail } from '../errors.ts';
import { tenantExists } from '../../directory/tenants/tenants.ts';
import type { Source, SourceRequest } from './provisioning-sources.api.ts';
import { provisioningSourceRegistered, provisioningSourceStale } from './provisioning-sources.events.ts';
import {
  findSource,
  findSources,
  holdProvider,
  insertSource,
  markStale,
  markSynced,
  type SourceRow,
} from './provisioning-sources.sql.ts';

/**
 * Registers a source (contract, section 11). The checks run in the order of the endpoint's `errors`; a principal that is
 * no member of the tenant is absent.
 */
export async function registerSource(
  context: Context,
  tenantId: string,
  wanted: SourceRequest,
): Promise<Source> {
  const { db } = context;
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const provider =
    (await db.row(holdProvider(tenantId, wanted.identityProvider))) ?? fail('identity_provider_not_found');
  if (wanted.kind === 'scim' && provider.lifecycle_profile === 'read_only')
    fail('population_managed_by_directory');
  if (wanted.servicePrincipalId != null) {
    const principal = await getPrincipal(db, tenantId, wanted.servicePrincipalId);
    if (principal.kind !== 'service_account') fail('service_account_required');
  } else if (wanted.kind === 'scim') fail('service_principal_required');
  const source =
    (await db.row(insertSource(randomUUID(), tenantId, provider.id, wanted))) ??
    fail('provisioning_source_exists');
  const { id, key, kind } = source;
  const payload = { provisioningSourceId: id, key, kind, identityProviderId: provider.id };
  emit(context, provisioningSourceRegistered, { tenantId, aggregateId: id }, payload);
  audit(context, {
    tenantId,
    action: 'provisioning_sources.register',
    resource: ['provisioning_source', id],
    reason: `source:${key} kind:${kind}`,
  });
  return sourceView(source);
}

/** The sources of a tenant; those that have fallen silent since the last look are recorded. */
export async function listSources(context: Context, tenantId: string): Promise<Source[]> {
  await detectStaleSources(context, tenantId);
  return (await context.db.rows(findSources(tenantId))).map(sourceView);
}

/** @throws Refusal `provisioning_source_not_found` */
export async function readSource(db: Db, tenantId: string, sourceId: string): Promise<Source> {
  return sourceView((await db.row(findSource(tenantId, sourceId))) ?? fail('provisioning_source_not_found'));
}

/** Notes that a source has just been heard from, which ends an episode of silence. */
export async function noteContact({ db }: Pick<Context, 'db'>, sourceId: string): Promise<void> {
  await db.run(markSynced(sourceId));
}

/** Records the sources that have fallen silent, each once per episode; of all tenants without a tenant. */
export async function detectStaleSources(
  context: Auditing & Emitting & Pick<Context, 'db'>,
  tenantId: string | null,
): Promise<void> {
  for (const source of await context.db.rows(markStale(tenantId))) {
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

function sourceView(row: SourceRow): Source {
  return {
    id: row.id,
    key: row.key,
    kind: row.kind,
    identityProviderId: row.identity_provider_id,
    servicePrincipalId: row.service_principal_id,
    upstreamMode: row.upstream_mode,
    status: row.status,
    staleAfterSeconds: row.stale_after_seconds,
    lastSyncAt: row.last_sync_at,
    stale: row.is_stale,
  };
}
