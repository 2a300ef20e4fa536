import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { NewProvisioningSource, SourceChoices, SourceRow, StoredSource } from './provisioning-source.ts';

type ProviderRow = RowOf<Tables['identity_providers']>;

/** The lock excludes a concurrent change to the provider's profile. */
export function lockProvider(tenantId: string, key: string) {
  return sql<Pick<ProviderRow, 'id' | 'lifecycle_profile'>>`
    select id, lifecycle_profile from identity_providers where tenant_id = ${tenantId} and key = ${key}
    for share`;
}

/** Like `lockProvider`, for the provider of a source. */
export function lockProviderOf(source: Pick<StoredSource, 'tenant_id' | 'identity_provider_id'>) {
  return sql<Pick<ProviderRow, 'lifecycle_profile'>>`
    select lifecycle_profile from identity_providers
    where id = ${source.identity_provider_id} and tenant_id = ${source.tenant_id}
    for share`;
}

/** Returns no row if the key, the provider or the service principal already has a source. */
export function insertSource(
  id: string,
  tenantId: string,
  providerId: string,
  wanted: NewProvisioningSource,
) {
  return sql<SourceRow>`
    insert into provisioning_sources (id, tenant_id, key, kind, identity_provider_id, service_principal_id,
      upstream_mode, upstream_base_url, upstream_realm, stale_after_seconds)
    values (${id}, ${tenantId}, ${wanted.key}, ${wanted.kind}, ${providerId}, ${wanted.servicePrincipalId ?? null},
      ${wanted.upstreamMode}, ${wanted.upstreamBaseUrl}, ${wanted.upstreamRealm}, ${wanted.staleAfterSeconds})
    on conflict do nothing
    returning id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, false as is_stale`;
}

export function findSources(tenantId: string) {
  return sql<SourceRow>`
    select id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, status = 'active'
        and now() - coalesce(last_sync_at, created_at) > make_interval(secs => stale_after_seconds) as is_stale
    from provisioning_sources where tenant_id = ${tenantId} order by created_at, id`;
}

/**
 * Marks the sources of one tenant, or of all, that are stale and have not been marked yet. A locked source is skipped,
 * because its directory is writing now.
 */
export function updateStaleSources(tenantId: string | null, sourceId: string | null) {
  return sql<SourceRow>`
    with silent as materialized (
      select id from provisioning_sources
      where (${tenantId}::uuid is null or tenant_id = ${tenantId}::uuid)
        and (${sourceId}::uuid is null or id = ${sourceId}::uuid) and status = 'active' and stale_detected_at is null
        and now() - coalesce(last_sync_at, created_at) > make_interval(secs => stale_after_seconds)
      for no key update skip locked
    )
    update provisioning_sources s set stale_detected_at = now() from silent where s.id = silent.id
    returning s.id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, true as is_stale`;
}

/** The next stale source, by id, that has not been marked yet. */
export function findSilentSourceAfter(sourceId: string | null) {
  return sql<Pick<SourceRow, 'id'>>`
    select id from provisioning_sources
    where (${sourceId}::uuid is null or id > ${sourceId}::uuid) and status = 'active' and stale_detected_at is null
      and now() - coalesce(last_sync_at, created_at) > make_interval(secs => stale_after_seconds)
    order by id limit 1`;
}

export function findSource(tenantId: string, sourceId: string) {
  return sql<SourceRow>`
    select id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, status = 'active'
        and now() - coalesce(last_sync_at, created_at) > make_interval(secs => stale_after_seconds) as is_stale
    from provisioning_sources where id = ${sourceId} and tenant_id = ${tenantId}`;
}

/** Prevents concurrent changes to the source, and the concurrent issuing of tokens for it. */
export function lockSource(tenantId: string, sourceId: string) {
  return sql<StoredSource & SourceChoices>`
    select id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, upstream_base_url, upstream_realm
    from provisioning_sources where id = ${sourceId} and tenant_id = ${tenantId}
    for no key update`;
}

/**
 * If a source isn't stale under the new limit, its mark is removed, so that it is recorded again when it becomes stale.
 */
export function updateSource(source: Pick<StoredSource, 'id' | 'tenant_id'>, choices: SourceChoices) {
  return sql`
    update provisioning_sources set stale_after_seconds = ${choices.stale_after_seconds},
      upstream_mode = ${choices.upstream_mode}, upstream_base_url = ${choices.upstream_base_url},
      upstream_realm = ${choices.upstream_realm},
      stale_detected_at = case
        when now() - coalesce(last_sync_at, created_at) > make_interval(secs => ${choices.stale_after_seconds})
        then stale_detected_at end
    where id = ${source.id} and tenant_id = ${source.tenant_id}`;
}

/** Removes the mark too, so that a source that is enabled again and still stale is recorded again. */
export function updateSourceStatus(
  source: Pick<StoredSource, 'id' | 'tenant_id'>,
  status: StoredSource['status'],
) {
  return sql`
    update provisioning_sources set status = ${status}, stale_detected_at = null
    where id = ${source.id} and tenant_id = ${source.tenant_id}`;
}

/** Called at the end of every successful SCIM write, even if the write changes nothing, and at a heartbeat. */
export function updateLastSync(sourceId: string) {
  return sql`
    update provisioning_sources set last_sync_at = now(), stale_detected_at = null where id = ${sourceId}`;
}
