import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../../service/schema.ts';

type Source = RowOf<Tables['provisioning_sources']>;
type Provider = RowOf<Tables['identity_providers']>;

/** A source, and the columns that decide whether it may write now. */
export type ScimSourceRow = Pick<
  Source,
  'key' | 'tenant_id' | 'upstream_mode' | 'upstream_base_url' | 'upstream_realm'
> & {
  /** Null for a service account without an active SCIM source; the other columns of the source are then null too. */
  source_id: Source['id'] | null;
  provider_id: Provider['id'];
  provider_issuer: Provider['issuer'];
  provider_status: Provider['status'];
  /** Whether the credential, and the principal, its membership and its tenant are all active. */
  is_live: boolean;
};

/** Finds a source by the service account of an access token. Returns no row if the tenant has no such account. */
export function findSourceOfAccount(accountId: string, principalId: string, tenantId: string) {
  return sql<ScimSourceRow>`
    select s.id as source_id, s.key, a.tenant_id, s.upstream_mode, s.upstream_base_url, s.upstream_realm,
      i.id as provider_id, i.issuer as provider_issuer, i.status as provider_status,
      a.revoked_at is null and p.status = 'active' and m.status = 'active' and t.status = 'active' as is_live
    from service_accounts a
    join principals p on p.id = a.principal_id
    join memberships m on m.tenant_id = a.tenant_id and m.principal_id = a.principal_id
    join tenants t on t.id = a.tenant_id
    left join provisioning_sources s on s.service_principal_id = a.principal_id and s.tenant_id = a.tenant_id
      and s.kind = 'scim' and s.status = 'active'
    left join identity_providers i on i.id = s.identity_provider_id
    where a.id = ${accountId} and a.principal_id = ${principalId} and a.tenant_id = ${tenantId}`;
}

/** Finds a source by the public part of a provisioning token. */
export function findSourceOfToken(publicPrefix: string) {
  return sql<ScimSourceRow & Pick<RowOf<Tables['provisioning_tokens']>, 'secret_hash'>>`
    select k.secret_hash, s.id as source_id, s.key, s.tenant_id, s.upstream_mode, s.upstream_base_url,
      s.upstream_realm, i.id as provider_id, i.issuer as provider_issuer, i.status as provider_status,
      k.revoked_at is null and k.expires_at > now() and s.status = 'active' and s.kind = 'scim'
        and p.status = 'active' and m.status = 'active' and t.status = 'active'
        and not exists (
          select 1 from service_accounts a where a.principal_id = p.id and a.revoked_at is not null) as is_live
    from provisioning_tokens k
    join provisioning_sources s on s.id = k.provisioning_source_id
    join identity_providers i on i.id = s.identity_provider_id
    join principals p on p.id = s.service_principal_id
    join memberships m on m.tenant_id = s.tenant_id and m.principal_id = p.id
    join tenants t on t.id = s.tenant_id
    where k.public_prefix = ${publicPrefix}`;
}
