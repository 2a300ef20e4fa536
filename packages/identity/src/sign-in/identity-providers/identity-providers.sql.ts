import { sql } from '@baton/kernel/database/sql';
import type { OpenProvider, ProviderChoices, ProviderRow } from './identity-provider.ts';

type NewProvider = Omit<OpenProvider, 'status' | 'created_at'>;

/** Returns no row if the key or the issuer is taken in the tenant. Waits for a concurrent insert of the same row. */
export function insertProvider(provider: NewProvider) {
  return sql<ProviderRow>`
    insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, jwks_uri, subject_claim,
      external_id_claim, group_claim, group_mappings, required_acr_values, required_amr_values, lifecycle_profile,
      jwks_cache_ttl_seconds, jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims)
    values (${provider.id}, ${provider.tenant_id}, ${provider.key}, ${provider.issuer}, ${provider.registered_issuer},
      ${provider.audience}, ${provider.jwks_uri}, ${provider.subject_claim}, ${provider.external_id_claim},
      ${provider.group_claim}, ${JSON.stringify(provider.group_mappings)}::jsonb, ${provider.required_acr_values},
      ${provider.required_amr_values}, ${provider.lifecycle_profile}, ${provider.jwks_cache_ttl_seconds},
      ${provider.jwks_stale_grace_seconds}, ${provider.display_name_claim}, ${provider.authorized_parties},
      ${provider.principal_kind}, ${JSON.stringify(provider.required_claims)}::jsonb)
    on conflict do nothing
    returning id, tenant_id, key, issuer, audience, jwks_uri, subject_claim, external_id_claim, group_claim,
      group_mappings, required_acr_values, required_amr_values, lifecycle_profile, jwks_cache_ttl_seconds,
      jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims, status, created_at`;
}

/** Sorted by key in code point order, whatever the collation of the database. */
export function findProviders(tenantId: string) {
  return sql<ProviderRow>`
    select id, tenant_id, key, issuer, audience, jwks_uri, subject_claim, external_id_claim, group_claim,
      group_mappings, required_acr_values, required_amr_values, lifecycle_profile, jwks_cache_ttl_seconds,
      jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims, status, created_at
    from identity_providers where tenant_id = ${tenantId}
    order by key collate "C"`;
}

export function findProvider(tenantId: string, key: string) {
  return sql<ProviderRow>`
    select id, tenant_id, key, issuer, audience, jwks_uri, subject_claim, external_id_claim, group_claim,
      group_mappings, required_acr_values, required_amr_values, lifecycle_profile, jwks_cache_ttl_seconds,
      jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims, status, created_at
    from identity_providers where tenant_id = ${tenantId} and key = ${key}`;
}

export function lockProvider(tenantId: string, key: string) {
  return sql<ProviderRow>`
    select id, tenant_id, key, issuer, audience, jwks_uri, subject_claim, external_id_claim, group_claim,
      group_mappings, required_acr_values, required_amr_values, lifecycle_profile, jwks_cache_ttl_seconds,
      jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims, status, created_at
    from identity_providers where tenant_id = ${tenantId} and key = ${key}
    for no key update`;
}

/** The provider that signs people in: active, in an active tenant, with the issuer as it was registered. */
export function findOpenProvider(tenantId: string, key: string) {
  return sql<OpenProvider>`
    select p.id, p.tenant_id, p.key, p.issuer, p.registered_issuer, p.audience, p.jwks_uri, p.subject_claim,
      p.external_id_claim, p.group_claim, p.group_mappings, p.required_acr_values, p.required_amr_values,
      p.lifecycle_profile, p.jwks_cache_ttl_seconds, p.jwks_stale_grace_seconds, p.display_name_claim,
      p.authorized_parties, p.principal_kind, p.required_claims, p.status, p.created_at
    from identity_providers p join tenants t on t.id = p.tenant_id
    where p.tenant_id = ${tenantId} and p.key = ${key} and p.status = 'active' and t.status = 'active'`;
}

/** An active SCIM source that provisions the people of the provider. */
export function findScimSource(providerId: string) {
  return sql<{ id: string }>`
    select id from provisioning_sources
    where identity_provider_id = ${providerId} and kind = 'scim' and status = 'active'`;
}

export function updateProvider(id: string, choices: ProviderChoices) {
  return sql`
    update identity_providers set audience = ${choices.audience}, jwks_uri = ${choices.jwks_uri},
      subject_claim = ${choices.subject_claim}, external_id_claim = ${choices.external_id_claim},
      group_claim = ${choices.group_claim}, group_mappings = ${JSON.stringify(choices.group_mappings)}::jsonb,
      required_acr_values = ${choices.required_acr_values}, required_amr_values = ${choices.required_amr_values},
      lifecycle_profile = ${choices.lifecycle_profile}, jwks_cache_ttl_seconds = ${choices.jwks_cache_ttl_seconds},
      jwks_stale_grace_seconds = ${choices.jwks_stale_grace_seconds}, display_name_claim = ${choices.display_name_claim},
      authorized_parties = ${choices.authorized_parties}, principal_kind = ${choices.principal_kind},
      required_claims = ${JSON.stringify(choices.required_claims)}::jsonb
    where id = ${id}`;
}

export function updateProviderStatus(id: string, status: ProviderRow['status']) {
  return sql`update identity_providers set status = ${status} where id = ${id}`;
}
