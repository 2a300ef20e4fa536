import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { emit } from '../../records/journal/journal.ts';
import { fail } from '../errors.ts';
import type { Source, SourceChanges } from './provisioning-sources.api.ts';
import {
  provisioningSourceDisabled,
  provisioningSourceEnabled,
  provisioningSourceUpdated,
} from './provisioning-sources.events.ts';
import {
  holdProviderOf,
  lockSource,
  type SourceChoices,
  type SourceRow,
  updateSource,
  updateSourceStatus,
} from './provisioning-sources.sql.ts';
import { noteContact, readSource } from './provisioning-sources.ts';

/** @throws Refusal `provisioning_source_not_found` */
export async function changeSource(
  context: Context,
  tenantId: string,
  sourceId: string,
  changes: SourceChanges,
): Promise<Source> {
  const { db } = context;
  const source = await lock(context, tenantId, sourceId);
  const changed = changesOf<SourceChoices>(source, {
    stale_after_seconds: changes.staleAfterSeconds,
    upstream_mode: changes.upstreamMode,
    upstream_base_url: changes.upstreamBaseUrl,
    upstream_realm: changes.upstreamRealm,
  });
  if (Object.keys(changed).length > 0) {
    await db.run(updateSource(source, { ...source, ...changed }));
    const about = { tenantId, aggregateId: sourceId };
    emit(context, provisioningSourceUpdated, about, { provisioningSourceId: sourceId, key: source.key });
    record(context, source, 'provisioning_sources.update', ` ${changeReason(changed)}`);
  }
  return readSource(db, tenantId, sourceId);
}

/**
 * Closes or opens a source. Repeated, it changes nothing and is audited all the same.
 * @throws Refusal `provisioning_source_not_found`, `population_managed_by_directory` for a SCIM source whose provider
 * has become `read_only` meanwhile
 */
export async function switchSource(
  context: Context,
  tenantId: string,
  sourceId: string,
  status: SourceRow['status'],
): Promise<Source> {
  const { db } = context;
  const source = await lock(context, tenantId, sourceId);
  const isOpened = status === 'active';
  if (isOpened && source.kind === 'scim') {
    const provider = await db.row(holdProviderOf(source));
    if (provider?.lifecycle_profile === 'read_only') fail('population_managed_by_directory');
  }
  record(context, source, isOpened ? 'provisioning_sources.enable' : 'provisioning_sources.disable');
  if (source.status !== status) {
    await db.run(updateSourceStatus(source, status));
    const event = isOpened ? provisioningSourceEnabled : provisioningSourceDisabled;
    const about = { tenantId, aggregateId: sourceId };
    emit(context, event, about, { provisioningSourceId: sourceId, key: source.key });
  }
  return readSource(db, tenantId, sourceId);
}

/**
 * Notes a contact of a directory that is read: nobody else would learn of a look that changed nothing (contract, W27).
 * @throws Refusal `provisioning_source_not_found`, `source_syncs_itself`
 */
export async function noteHeartbeat(context: Context, tenantId: string, sourceId: string): Promise<Source> {
  const { db } = context;
  const source = await lock(context, tenantId, sourceId);
  if (source.kind === 'scim') fail('source_syncs_itself');
  await noteContact(context, sourceId);
  record(context, source, 'provisioning_sources.heartbeat');
  return readSource(db, tenantId, sourceId);
}

async function lock({ db }: Context, tenantId: string, sourceId: string) {
  return (await db.row(lockSource(tenantId, sourceId))) ?? fail('provisioning_source_not_found');
}

function record(
  context: Context,
  { id, tenant_id, key }: Pick<SourceRow, 'id' | 'tenant_id' | 'key'>,
  action: AuditAction,
  more = '',
): void {
  const resource = ['provisioning_source', id] as const;
  audit(context, { tenantId: tenant_id, action, resource, reason: `source:${key}${more}` });
}
