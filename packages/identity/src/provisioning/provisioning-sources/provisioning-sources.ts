import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { getPrincipal } from '../../directory/principals/principals.ts';
import { tenantExists } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { emit } from '../../records/journal/journal.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type NewProvisioningSource,
  type ProvisioningSource,
  type ProvisioningSourceChange,
  provisioningSourceOf,
  type SourceChoices,
  type StoredSource,
} from './provisioning-source.ts';
import {
  provisioningSourceDisabled,
  provisioningSourceEnabled,
  provisioningSourceRegistered,
  provisioningSourceUpdated,
} from './provisioning-sources.events.ts';
import {
  findSource,
  findSources,
  insertSource,
  lockProvider,
  lockProviderOf,
  lockSource,
  updateLastSync,
  updateSource,
  updateSourceStatus,
} from './provisioning-sources.sql.ts';
import { recordStaleSources } from './staleness.ts';

/**
 * Registers a source (see docs/reference/scim.md#sources). The checks run in the order of the endpoint's `errors`.
 * @throws Refusal `tenant_not_found`, `identity_provider_not_found`, `population_managed_by_directory`;
 * `principal_not_found` also for a principal that is not a member of the tenant; `service_account_required`,
 * `service_principal_required`, `provisioning_source_exists`
 */
export async function createProvisioningSource(
  context: Context,
  tenantId: string,
  wanted: NewProvisioningSource,
): Promise<ProvisioningSource> {
  const { db } = context;
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const provider =
    (await db.row(lockProvider(tenantId, wanted.identityProvider))) ?? fail('identity_provider_not_found');
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
  record(context, source, 'provisioning_sources.register', ` kind:${kind}`);
  return provisioningSourceOf(source);
}

/** Lists the sources of a tenant. Sources that have become stale since the last check are recorded first. */
export async function listProvisioningSources(
  context: Context,
  tenantId: string,
): Promise<ProvisioningSource[]> {
  await recordStaleSources(context, tenantId);
  return (await context.db.rows(findSources(tenantId))).map(provisioningSourceOf);
}

/** @throws Refusal `provisioning_source_not_found` */
export async function getProvisioningSource(
  db: Db,
  tenantId: string,
  sourceId: string,
): Promise<ProvisioningSource> {
  return provisioningSourceOf(
    (await db.row(findSource(tenantId, sourceId))) ?? fail('provisioning_source_not_found'),
  );
}

/** Stores the values that differ. @throws Refusal `provisioning_source_not_found` */
export async function updateProvisioningSource(
  context: Context,
  tenantId: string,
  sourceId: string,
  change: ProvisioningSourceChange,
): Promise<ProvisioningSource> {
  const { db } = context;
  const source = await lockForChange(context, tenantId, sourceId);
  const changed = changesOf<SourceChoices>(source, {
    stale_after_seconds: change.staleAfterSeconds,
    upstream_mode: change.upstreamMode,
    upstream_base_url: change.upstreamBaseUrl,
    upstream_realm: change.upstreamRealm,
  });
  if (Object.keys(changed).length > 0) {
    await db.run(updateSource(source, { ...source, ...changed }));
    const about = { tenantId, aggregateId: sourceId };
    emit(context, provisioningSourceUpdated, about, { provisioningSourceId: sourceId, key: source.key });
    record(context, source, 'provisioning_sources.update', ` ${changeReason(changed)}`);
  }
  return getProvisioningSource(db, tenantId, sourceId);
}

/**
 * Enables or disables a source. Repeating the call changes nothing but is audited.
 * @throws Refusal `provisioning_source_not_found`; `population_managed_by_directory` when enabling a SCIM source
 * whose provider has become `read_only`
 */
export async function setProvisioningSourceStatus(
  context: Context,
  tenantId: string,
  sourceId: string,
  status: StoredSource['status'],
): Promise<ProvisioningSource> {
  const { db } = context;
  const source = await lockForChange(context, tenantId, sourceId);
  const isEnabled = status === 'active';
  if (isEnabled && source.kind === 'scim') {
    const provider = await db.row(lockProviderOf(source));
    if (provider?.lifecycle_profile === 'read_only') fail('population_managed_by_directory');
  }
  record(context, source, isEnabled ? 'provisioning_sources.enable' : 'provisioning_sources.disable');
  if (source.status !== status) {
    await db.run(updateSourceStatus(source, status));
    const event = isEnabled ? provisioningSourceEnabled : provisioningSourceDisabled;
    const about = { tenantId, aggregateId: sourceId };
    emit(context, event, about, { provisioningSourceId: sourceId, key: source.key });
  }
  return getProvisioningSource(db, tenantId, sourceId);
}

/**
 * Records that a directory was read; without this, a read that finds no change would not be visible (see
 * docs/reference/scim.md#sources).
 * @throws Refusal `provisioning_source_not_found`, `source_syncs_itself`
 */
export async function heartbeatProvisioningSource(
  context: Context,
  tenantId: string,
  sourceId: string,
): Promise<ProvisioningSource> {
  const { db } = context;
  const source = await lockForChange(context, tenantId, sourceId);
  if (source.kind === 'scim') fail('source_syncs_itself');
  await noteContact(context, sourceId);
  record(context, source, 'provisioning_sources.heartbeat');
  return getProvisioningSource(db, tenantId, sourceId);
}

/** Records that a source has just written or was read, so that it is no longer stale. */
export async function noteContact({ db }: Pick<Context, 'db'>, sourceId: string): Promise<void> {
  await db.run(updateLastSync(sourceId));
}

async function lockForChange({ db }: Context, tenantId: string, sourceId: string) {
  return (await db.row(lockSource(tenantId, sourceId))) ?? fail('provisioning_source_not_found');
}

function record(
  context: Context,
  { id, tenant_id, key }: Pick<StoredSource, 'id' | 'tenant_id' | 'key'>,
  action: AuditAction,
  more = '',
): void {
  const resource = ['provisioning_source', id] as const;
  audit(context, { tenantId: tenant_id, action, resource, reason: `source:${key}${more}` });
}
