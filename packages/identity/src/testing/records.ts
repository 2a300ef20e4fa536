import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from './identity.ts';

/** The rows that a request wrote to the journal and the audit log. */

export interface AuditLine {
  action: string;
  actor_ref: string;
  resource_type: string;
  resource_id: string;
  outcome: string;
  reason: string;
  request_id: string;
}

/** The audit rows of a tenant, oldest first. */
export function auditOf({ pool }: TestIdentity, tenantId: string): Promise<AuditLine[]> {
  return pool.rows(sql<AuditLine>`
    select action, actor_ref, resource_type, resource_id, outcome, reason, request_id
    from audit_records where tenant_id = ${tenantId} order by sequence`);
}

/** `allowed tenants.create` of every audit row of a tenant. */
export async function auditActions(identity: TestIdentity, tenantId: string): Promise<string[]> {
  return (await auditOf(identity, tenantId)).map(({ outcome, action }) => `${outcome} ${action}`);
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check the types of responses
export async function journalOf(identity: TestIdentity, tenantId: string): Promise<any[]> {
  return (await identity.get(`/events?tenantId=${tenantId}&limit=500`)).body.items;
}

export async function journalTypes(identity: TestIdentity, tenantId: string): Promise<string[]> {
  return (await journalOf(identity, tenantId)).map(({ type }) => type);
}

/** The number of rows of each kind in the database: equal before and after a request that changes nothing. */
export async function storeCounts({ pool }: TestIdentity): Promise<unknown> {
  return pool.row(sql`
    select (select count(*) from tenants) as tenants, (select count(*) from principals) as principals,
      (select count(*) from memberships) as memberships, (select count(*) from audiences) as audiences,
      (select count(*) from groups) as groups, (select count(*) from group_members) as members,
      (select count(*) from service_accounts) as accounts, (select count(*) from platform_access_tokens) as tokens,
      (select count(*) from external_identities) as identities,
      (select count(*) from authentication_contexts) as contexts,
      (select count(*) from events) as events, (select count(*) from audit_records) as audits`);
}
