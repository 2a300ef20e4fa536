import { sql } from '@baton/kernel/database/sql';
import type { StoredProvider } from '../identity-providers/identity-provider.ts';
import type { AcceptingRule } from './accepting-rule.ts';
import { rulesOfProviderMax } from './workload-rule.ts';

/**
 * The active providers of workloads with this issuer, whose audience is one of these: at most one in each tenant. A
 * second row shows that the tenant is ambiguous.
 */
export function findProvidersOf(issuer: string, audiences: readonly string[], tenantId: string | null) {
  return sql<StoredProvider>`
    select p.id, p.tenant_id, p.key, p.issuer, p.registered_issuer, p.audience, p.jwks_uri, p.subject_claim,
      p.external_id_claim, p.group_claim, p.group_mappings, p.required_acr_values, p.required_amr_values,
      p.lifecycle_profile, p.jwks_cache_ttl_seconds, p.jwks_stale_grace_seconds, p.display_name_claim,
      p.authorized_parties, p.principal_kind, p.required_claims, p.key_set, p.email_claim, p.unknown_people, p.admit,
      p.offered, p.own_issuer, p.status, p.created_at
    from identity_providers p join tenants t on t.id = p.tenant_id
    where p.issuer = ${issuer} and p.principal_kind <> 'human' and p.audience = any (${audiences}::text[])
      and p.status = 'active' and t.status = 'active'
      and (${tenantId}::uuid is null or p.tenant_id = ${tenantId}::uuid)
    order by p.id
    limit 2`;
}

/** The active rules of a provider that is still active, each with the state of its principal and of the audience. */
export function findAcceptingRules(providerId: string, audience: string, useIntervalSeconds: number) {
  return sql<AcceptingRule>`
    select r.id, r.key, r.principal_id, r.claims, r.audiences, r.scope_ceiling, r.single_use, r.lifetime_seconds_max,
      p.kind as principal_kind,
      case
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
        when s.revoked_at is not null then 'service_account_revoked'
      end as refusal,
      a.allowed_scopes, a.signing_algorithm,
      r.last_used_at is null or r.last_used_at <= now() - make_interval(secs => ${useIntervalSeconds}) as is_use_due,
      floor(extract(epoch from now()))::bigint as now_seconds
    from identity_providers i
    join tenants t on t.id = i.tenant_id
    join workload_rules r on r.identity_provider_id = i.id
    join principals p on p.id = r.principal_id
    left join memberships m on m.tenant_id = r.tenant_id and m.principal_id = r.principal_id
    left join service_accounts s on s.tenant_id = r.tenant_id and s.principal_id = r.principal_id
    left join audiences a on a.tenant_id = r.tenant_id and a.key = ${audience} and a.status = 'active'
    where i.id = ${providerId} and i.status = 'active' and i.principal_kind <> 'human' and t.status = 'active'
      and r.status = 'active'
    limit ${rulesOfProviderMax}`;
}

/** Whether an assertion was used, even if it has expired since. */
export function findUsedAssertion(providerId: string, jtiHash: string) {
  return sql<{ jti_hash: string }>`
    select jti_hash from used_assertions where identity_provider_id = ${providerId} and jti_hash = ${jtiHash}`;
}

/** Used assertions of a provider are recorded one after another, so that their number is exact. */
export function lockUsedAssertions(providerId: string) {
  return sql`
    select pg_advisory_xact_lock((19027::bigint << 48) | (hashtextextended(${providerId}, 0) & ((1::bigint << 48) - 1)))`;
}

/**
 * Records that an assertion was used, so that only one of two processes succeeds. A second row for the same assertion
 * is refused, even when the first has expired. Call it after `lockUsedAssertions`.
 */
export function insertUsedAssertion(used: {
  providerId: string;
  ruleId: string;
  jtiHash: string;
  expiresAtSeconds: number;
  ofProviderMax: number;
  ofRuleMax: number;
}) {
  return sql<{ is_full: boolean; is_new: boolean }>`
    with live as (
      select count(*) >= ${used.ofProviderMax}
        or count(*) filter (where workload_rule_id = ${used.ruleId}) >= ${used.ofRuleMax} as is_full
      from (
        select workload_rule_id from used_assertions
        where identity_provider_id = ${used.providerId} and expires_at > now() limit ${used.ofProviderMax}) as counted
    ), inserted as (
      insert into used_assertions (identity_provider_id, jti_hash, expires_at, workload_rule_id)
      select ${used.providerId}, ${used.jtiHash}, to_timestamp(${used.expiresAtSeconds}), ${used.ruleId} from live
      where not is_full
      on conflict do nothing
      returning 1
    )
    select is_full, exists (select from inserted) as is_new from live`;
}

/** Rows of a running exchange in another process are skipped. */
export function deleteExpiredAssertions(rowsMax: number) {
  return sql`
    with expired as materialized (
      select identity_provider_id, jti_hash from used_assertions where expires_at <= now()
      order by expires_at limit ${rowsMax} for update skip locked
    )
    delete from used_assertions u using expired e
    where u.identity_provider_id = e.identity_provider_id and u.jti_hash = e.jti_hash
    returning u.jti_hash`;
}
