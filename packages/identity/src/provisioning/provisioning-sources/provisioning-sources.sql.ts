import { sql } from '@baton/kernel/sql';
import type { SourceRequest } from './provisioning-sources.api.ts';

export interface SourceRow {
  id: string;
  tenant_id: string;
  key: string;
  kind: 'scim' | 'ldap';
  identity_provider_id: string;
  service_principal_id: string | null;
  upstream_mode: 'off' | 'scim' | 'admin' | 'auto';
  status: 'active' | 'disabled';
  stale_after_seconds: number;
  last_sync_at: string | null;
  is_stale: boolean;
}

/** What an operator may change later; a source has no address of its own where nothing is written upstream. */
export interface SourceChoices {
  stale_after_seconds: number;
  upstream_mode: SourceRow['upstream_mode'];
  upstream_base_url: string;
  upstream_realm: string;
}

/** The lock makes whoever changes the provider's profile at this moment wait, or be waited for. */
export function holdProvider(tenantId: string, key: string) {
  return sql<{ id: string; lifecycle_profile: 'read_only' | 'managed' }>`
    select id, lifecycle_profile from identity_providers where tenant_id = ${tenantId} and key = ${key}
    for share`;
}

/** The same of the provider of a source. */
export function holdProviderOf(source: Pick<SourceRow, 'tenant_id' | 'identity_provider_id'>) {
  return sql<{ lifecycle_profile: 'read_only' | 'managed' }>`
    select lifecycle_profile from identity_providers
    where id = ${source.identity_provider_id} and tenant_id = ${source.tenant_id}
    for share`;
}

/** No row when the key, the provider or the service principal has a source already. */
export function insertSource(id: string, tenantId: string, providerId: string, wanted: SourceRequest) {
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
 * Marks the sources that have fallen silent and were not marked yet, of one tenant or of all. One that is written at
 * this moment is left alone: it isn't silent.
 */
export function markStale(tenantId: string | null) {
  return sql<SourceRow>`
    with silent as materialized (
      select id from provisioning_sources
      where (${tenantId}::uuid is null or tenant_id = ${tenantId}::uuid) and status = 'active'
        and stale_detected_at is null
        and now() - coalesce(last_sync_at, created_at) > make_interval(secs => stale_after_seconds)
      for no key update skip locked
    )
    update provisioning_sources s set stale_detected_at = now() from silent where s.id = silent.id
    returning s.id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, true as is_stale`;
}

export function findSource(tenantId: string, sourceId: string) {
  return sql<SourceRow>`
    select id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, status = 'active'
        and now() - coalesce(last_sync_at, created_at) > make_interval(secs => stale_after_seconds) as is_stale
    from provisioning_sources where id = ${sourceId} and tenant_id = ${tenantId}`;
}

/** Against another change, or another token, of the same source at the same time. */
export function lockSource(tenantId: string, sourceId: string) {
  return sql<Omit<SourceRow, 'is_stale'> & SourceChoices>`
    select id, tenant_id, key, kind, identity_provider_id, service_principal_id, upstream_mode, status,
      stale_after_seconds, last_sync_at, upstream_base_url, upstream_realm
    from provisioning_sources where id = ${sourceId} and tenant_id = ${tenantId}
    for no key update`;
}

/** A source that is not silent by its new measure is alerted of when it falls silent by that. */
export function updateSource(source: Pick<SourceRow, 'id' | 'tenant_id'>, choices: SourceChoices) {
  return sql`
    update provisioning_sources set stale_after_seconds = ${choices.stale_after_seconds},
      upstream_mode = ${choices.upstream_mode}, upstream_base_url = ${choices.upstream_base_url},
      upstream_realm = ${choices.upstream_realm},
      stale_detected_at = case
        when now() - coalesce(last_sync_at, created_at) > make_interval(secs => ${choices.stale_after_seconds})
        then stale_detected_at end
    where id = ${source.id} and tenant_id = ${source.tenant_id}`;
}

/** One that is opened again and still silent is alerted of again. */
export function updateSourceStatus(source: Pick<SourceRow, 'id' | 'tenant_id'>, status: SourceRow['status']) {
  return sql`
    update provisioning_sources set status = ${status}, stale_detected_at = null
    where id = ${source.id} and tenant_id = ${source.tenant_id}`;
}

/** The end of every successful SCIM write, also of one that changes nothing; and a heartbeat. */
export function markSynced(sourceId: string) {
  return sql`
    update provisioning_sources set last_sync_at = now(), stale_detected_at = null where id = ${sourceId}`;
}
