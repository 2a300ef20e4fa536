import { part, sql } from '@baton/kernel/database/sql';
import type { OwnerConditions } from '../../directory/external-identities/shared-issuers.ts';
import type { OpenProvider, ProviderChoices, ProviderRow, StoredProvider } from './identity-provider.ts';

const columns = part`id, tenant_id, key, issuer, audience, jwks_uri, subject_claim, external_id_claim, group_claim,
      group_mappings, required_acr_values, required_amr_values, lifecycle_profile, jwks_cache_ttl_seconds,
      jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims, key_set,
      email_claim, unknown_people, admit, offered, own_issuer, status, created_at`;

type NewProvider = Omit<StoredProvider, 'status' | 'created_at'>;

/** Providers of a tenant are registered one at a time, so that their number is exact. */
export function lockTenantForProviders(tenantId: string) {
  return sql`select id from tenants where id = ${tenantId} for no key update`;
}

export function countProviders(tenantId: string) {
  return sql<{ providers: number }>`
    select count(*)::integer as providers from identity_providers where tenant_id = ${tenantId}`;
}

/** Returns no row if the key or the issuer is taken in the tenant. Waits for a concurrent insert of the same row. */
export function insertProvider(provider: NewProvider) {
  return sql<ProviderRow>`
    insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, jwks_uri, subject_claim,
      external_id_claim, group_claim, group_mappings, required_acr_values, required_amr_values, lifecycle_profile,
      jwks_cache_ttl_seconds, jwks_stale_grace_seconds, display_name_claim, authorized_parties, principal_kind, required_claims,
      key_set, email_claim, unknown_people, admit, offered, own_issuer)
    values (${provider.id}, ${provider.tenant_id}, ${provider.key}, ${provider.issuer}, ${provider.registered_issuer},
      ${provider.audience}, ${provider.jwks_uri}, ${provider.subject_claim}, ${provider.external_id_claim},
      ${provider.group_claim}, ${JSON.stringify(provider.group_mappings)}::jsonb, ${provider.required_acr_values},
      ${provider.required_amr_values}, ${provider.lifecycle_profile}, ${provider.jwks_cache_ttl_seconds},
      ${provider.jwks_stale_grace_seconds}, ${provider.display_name_claim}, ${provider.authorized_parties},
      ${provider.principal_kind}, ${JSON.stringify(provider.required_claims)}::jsonb,
      ${jsonOrNull(provider.key_set)}::jsonb, ${provider.email_claim}, ${provider.unknown_people},
      ${jsonOrNull(provider.admit)}::jsonb, ${provider.offered}, ${provider.own_issuer})
    on conflict do nothing
    returning ${columns}`;
}

/** Sorted by key in code point order, whatever the collation of the database. */
export function findProviders(tenantId: string) {
  return sql<ProviderRow>`
    select ${columns}
    from identity_providers where tenant_id = ${tenantId}
    order by key collate "C"`;
}

export function findProvider(tenantId: string, key: string) {
  return sql<ProviderRow>`
    select ${columns}
    from identity_providers where tenant_id = ${tenantId} and key = ${key}`;
}

export function findStoredProvider(tenantId: string, key: string) {
  return sql<StoredProvider>`
    select ${columns}, registered_issuer from identity_providers where tenant_id = ${tenantId} and key = ${key}`;
}

export function lockProvider(tenantId: string, key: string) {
  return sql<ProviderRow>`
    select ${columns}
    from identity_providers where tenant_id = ${tenantId} and key = ${key}
    for no key update`;
}

const open = (tenantId: string, key: string) => part`
    select p.id, p.tenant_id, p.key, p.issuer, p.registered_issuer, p.audience, p.jwks_uri, p.subject_claim,
      p.external_id_claim, p.group_claim, p.group_mappings, p.required_acr_values, p.required_amr_values,
      p.lifecycle_profile, p.jwks_cache_ttl_seconds, p.jwks_stale_grace_seconds, p.display_name_claim,
      p.authorized_parties, p.principal_kind, p.required_claims, p.key_set, p.email_claim, p.unknown_people, p.admit,
      p.offered, p.own_issuer, p.status, p.created_at
    from identity_providers p join tenants t on t.id = p.tenant_id
    where p.tenant_id = ${tenantId} and p.key = ${key} and p.status = 'active' and t.status = 'active'
      and p.principal_kind <> 'none'`;

/**
 * The provider through which people or workloads sign in: active, in an active tenant, with the issuer as it was
 * registered.
 */
export function findOpenProvider(tenantId: string, key: string) {
  return sql<OpenProvider>`${open(tenantId, key)}`;
}

/** Like `findOpenProvider`, with a lock, so that the provider changes either before or after this transaction. */
export function shareOpenProvider(tenantId: string, key: string) {
  return sql<OpenProvider>`${open(tenantId, key)}
    for share of p`;
}

/** The conditions of all workload rules of a provider, in any status. Call it under the lock of the provider. */
export function findConditionsOfRules(providerId: string) {
  return sql<{ claims: OwnerConditions }>`
    select claims from workload_rules where identity_provider_id = ${providerId}`;
}

/**
 * Administrators of different tenants register an issuer one after another, so that the second one finds the audience
 * of the first one.
 */
export function lockIssuer(issuer: string) {
  return sql`
    select pg_advisory_xact_lock((19026::bigint << 48) | (hashtextextended(${issuer}, 0) & ((1::bigint << 48) - 1)))`;
}

/** Whether another tenant has a provider with this issuer, in any status, and one that also has this audience. */
export function findProvidersElsewhere(tenantId: string, issuer: string, audience: string) {
  return sql<{ has_issuer: boolean; has_audience: boolean }>`
    select count(*) > 0 as has_issuer, coalesce(bool_or(audience = ${audience}), false) as has_audience
    from identity_providers where issuer = ${issuer} and tenant_id <> ${tenantId}`;
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
      required_claims = ${JSON.stringify(choices.required_claims)}::jsonb,
      key_set = ${jsonOrNull(choices.key_set)}::jsonb, email_claim = ${choices.email_claim},
      unknown_people = ${choices.unknown_people}, admit = ${jsonOrNull(choices.admit)}::jsonb,
      offered = ${choices.offered}, own_issuer = ${choices.own_issuer}
    where id = ${id}`;
}

export function updateIssuer(id: string, issuer: string, registered: string) {
  return sql<{ has_people: boolean }>`
    update identity_providers set issuer = ${issuer}, registered_issuer = ${registered} where id = ${id}
    returning exists (select from external_identities where identity_provider_id = ${id}) as has_people`;
}

/** The people of a provider keep their subjects, under another issuer. */
export function moveLinks({ id, issuer: before }: Pick<ProviderRow, 'id' | 'issuer'>, issuer: string) {
  return sql`
    update external_identities set issuer = ${issuer}
    where identity_provider_id = ${id} and rtrim(issuer, '/') = ${before}`;
}

/** The people of a provider stay linked only to its former issuer. */
export function detachLinks(id: string) {
  return sql`
    update external_identities set identity_provider_id = null, external_id = ''
    where identity_provider_id = ${id}`;
}

export function endRequestsOfProvider(id: string) {
  return sql`
    update sign_in_requests set expires_at = now()
    where identity_provider_id = ${id} and status = 'pending' and expires_at > now()`;
}

export function updateProviderStatus(id: string, status: ProviderRow['status']) {
  return sql`update identity_providers set status = ${status} where id = ${id}`;
}

function jsonOrNull(document: object | null): string | null {
  return document === null ? null : JSON.stringify(document);
}
