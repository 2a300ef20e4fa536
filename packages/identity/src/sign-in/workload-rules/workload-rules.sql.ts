import { sql } from '@baton/kernel/database/sql';
import type { IssuerOfProvider } from '../../directory/external-identities/shared-issuers.ts';
import type { RuleChoices, RuleRow, ShownRuleRow } from './workload-rule.ts';

type NewRule = Omit<RuleRow, 'status' | 'created_at' | 'last_used_at'>;

/** The provider of rules, locked: a change to the provider waits, and so does another change to its rules. */
export function lockProviderOfRules(tenantId: string, key: string) {
  return sql<IssuerOfProvider & { id: string; key: string; principal_kind: 'human' | 'workload' | 'none' }>`
    select id, key, issuer, key_set, own_issuer, principal_kind from identity_providers
    where tenant_id = ${tenantId} and key = ${key}
    for no key update`;
}

/**
 * Call it under the lock of the provider, in a statement of its own: a statement that waits for a lock doesn't see the
 * rows that were committed during the wait.
 */
export function countRules(providerId: string) {
  return sql<{ rules: number }>`
    select count(*)::integer as rules from workload_rules where identity_provider_id = ${providerId}`;
}

export function findProviderId(tenantId: string, key: string) {
  return sql<{
    id: string;
  }>`select id from identity_providers where tenant_id = ${tenantId} and key = ${key}`;
}

/** Returns no row when the key is taken. */
export function insertRule(rule: NewRule) {
  return sql<RuleRow>`
    insert into workload_rules (id, tenant_id, identity_provider_id, key, principal_id, claims, audiences, scope_ceiling,
      single_use, lifetime_seconds_max)
    values (${rule.id}, ${rule.tenant_id}, ${rule.identity_provider_id}, ${rule.key}, ${rule.principal_id},
      ${JSON.stringify(rule.claims)}::jsonb, ${rule.audiences}, ${rule.scope_ceiling}, ${rule.single_use},
      ${rule.lifetime_seconds_max})
    on conflict do nothing
    returning id, tenant_id, identity_provider_id, key, principal_id, claims, audiences, scope_ceiling, single_use,
      lifetime_seconds_max, status, created_at, last_used_at`;
}

/** Sorted by key in order of code points. At most `rulesOfProviderMax`. */
export function findRules(tenantId: string, providerKey: string) {
  return sql<ShownRuleRow>`
    select r.id, r.tenant_id, r.identity_provider_id, r.key, r.principal_id, r.claims, r.audiences, r.scope_ceiling,
      r.single_use, r.lifetime_seconds_max, r.status, r.created_at, r.last_used_at, p.key as identity_provider
    from identity_providers p join workload_rules r on r.identity_provider_id = p.id
    where p.tenant_id = ${tenantId} and p.key = ${providerKey}
    order by r.key collate "C"`;
}

export function findRule(tenantId: string, providerKey: string, key: string) {
  return sql<ShownRuleRow>`
    select r.id, r.tenant_id, r.identity_provider_id, r.key, r.principal_id, r.claims, r.audiences, r.scope_ceiling,
      r.single_use, r.lifetime_seconds_max, r.status, r.created_at, r.last_used_at, p.key as identity_provider
    from identity_providers p join workload_rules r on r.identity_provider_id = p.id
    where p.tenant_id = ${tenantId} and p.key = ${providerKey} and r.key = ${key}`;
}

export function lockRule(tenantId: string, providerKey: string, key: string) {
  return sql<ShownRuleRow>`
    select r.id, r.tenant_id, r.identity_provider_id, r.key, r.principal_id, r.claims, r.audiences, r.scope_ceiling,
      r.single_use, r.lifetime_seconds_max, r.status, r.created_at, r.last_used_at, p.key as identity_provider
    from identity_providers p join workload_rules r on r.identity_provider_id = p.id
    where p.tenant_id = ${tenantId} and p.key = ${providerKey} and r.key = ${key}
    for update of r`;
}

export function updateRule(id: string, choices: RuleChoices) {
  return sql`
    update workload_rules set principal_id = ${choices.principal_id}, claims = ${JSON.stringify(choices.claims)}::jsonb,
      audiences = ${choices.audiences}, scope_ceiling = ${choices.scope_ceiling}, single_use = ${choices.single_use},
      lifetime_seconds_max = ${choices.lifetime_seconds_max}
    where id = ${id}`;
}

export function updateRuleStatus(id: string, status: RuleRow['status']) {
  return sql`update workload_rules set status = ${status} where id = ${id}`;
}

export function deleteRule(id: string) {
  return sql`delete from workload_rules where id = ${id}`;
}
