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

export function findProvider(tenantId: string, key: string) {
  return sql<{ id: string; lifecycle_profile: 'read_only' | 'managed' }>`
    select id, lifecycle_profile from identity_providers where tenant_id = ${tenantId} and key = ${key}`;
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
  return sql<{ id: string }>`
    select id from provisioning_sources where id = ${sourceId} and tenant_id = ${tenantId}`;
}

/** Against another token of the same source at the same time. */
export function lockSource(tenantId: string, sourceId: string) {
  return sql<{ id: string; key: string }>`
    select id, key from provisioning_sources where id = ${sourceId} and tenant_id = ${tenantId}
    for no key update`;
}

/** The end of every successful SCIM write, also of one that changes nothing. */
export function markSynced(sourceId: string) {
  return sql`
    update provisioning_sources set last_sync_at = now(), stale_detected_at = null where id = ${sourceId}`;
}
