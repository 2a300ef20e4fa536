import { sql } from '@baton/kernel/database/sql';
import type { Identity } from '../../iam-bindings/iam-binding.ts';
import type { AdmissionRuleRow } from './admission-rule.ts';

/** Admissions of one identity wait for each other, so that it gets one principal. */
export function takeIdentityLock({ issuer, iamPrincipalId }: Pick<Identity, 'issuer' | 'iamPrincipalId'>) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`admissions/${iamPrincipalId} ${issuer}`}, 0))`;
}

/** Rules of a tenant are set one at a time, so that their number is exact. */
export function takeRulesLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`admission-rules/${tenantId}`}, 0))`;
}

interface Provider {
  issuer: string;
  iamTenantId: string;
  identityProvider: string;
}

export function findRules(tenantId: string) {
  return sql<AdmissionRuleRow>`
    select * from admission_rules where tenant_id = ${tenantId} order by identity_provider, id`;
}

export function countRules(tenantId: string) {
  return sql<{
    count: number;
  }>`select count(*)::integer as count from admission_rules where tenant_id = ${tenantId}`;
}

export function countRulesOfRole(tenantId: string, accessRole: string) {
  return sql<{ count: number }>`
    select count(*)::integer as count from admission_rules
    where tenant_id = ${tenantId} and access_role = ${accessRole}`;
}

/** The rule for the people of a provider, in any tenant. It can't change until the commit. */
export function shareRule({ issuer, iamTenantId, identityProvider }: Provider) {
  return sql<AdmissionRuleRow>`
    select * from admission_rules
    where issuer = ${issuer} and iam_tenant_id = ${iamTenantId} and identity_provider = ${identityProvider}
    for share`;
}

/** Returns no row when another tenant has the rule. */
export function upsertRule(rule: Provider & { id: string; tenantId: string; accessRole: string }) {
  return sql<AdmissionRuleRow>`
    insert into admission_rules (id, issuer, iam_tenant_id, identity_provider, tenant_id, access_role)
    values (${rule.id}, ${rule.issuer}, ${rule.iamTenantId}, ${rule.identityProvider}, ${rule.tenantId},
      ${rule.accessRole})
    on conflict on constraint admission_rules_provider do update
      set access_role = excluded.access_role, updated_at = now()
      where admission_rules.tenant_id = excluded.tenant_id
    returning *`;
}

export function deleteRules(tenantId: string, identityProvider: string) {
  return sql<AdmissionRuleRow>`
    delete from admission_rules where tenant_id = ${tenantId} and identity_provider = ${identityProvider}
    returning *`;
}
