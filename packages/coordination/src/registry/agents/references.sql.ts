import { sql } from '@baton/kernel/database/sql';
import type { AgentGrants } from './agent.ts';

export function findRolesOfTenant(tenantId: string, slugs: readonly string[]) {
  return sql<{ slug: string; id: string }>`
    select slug, id from roles where tenant_id = ${tenantId} and workspace_id is null and slug = any (${slugs}::text[])`;
}

export function findCapabilitiesOfNames(tenantId: string, names: readonly string[]) {
  return sql<{ name: string; id: string }>`
    select name, id from capabilities where tenant_id = ${tenantId} and name = any (${names}::text[])`;
}

/** At most two rows, which is enough to detect a duplicate. */
export function findWorkspacesOfSlug(tenantId: string, slug: string) {
  return sql<{ id: string }>`
    select id from workspaces
    where tenant_id::text || slug = ${tenantId}::text || ${slug}::text and tenant_id = ${tenantId} and slug = ${slug} limit 2`;
}

/** The newest active version of each key, with the skill that executes its tasks. */
export function findTypesOfKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string; skill: string | null }>`
    select distinct on (key) key, (execution ->> 'skill') || '@' || (execution ->> 'version') as skill
    from task_types
    where tenant_id = ${tenantId} and key = any (${keys}::text[]) and status = 'active'
    order by key, version desc`;
}

/**
 * A role, a capability or a skill that was assigned directly to a principal and that its agent's revision doesn't
 * grant.
 * @returns its place in a spec, such as `/identity/roles`; no row if there is none
 */
export function findFurtherAssignments(
  tenantId: string,
  principalId: string,
  { roleIds, capabilityIds, skillIds }: AgentGrants,
) {
  return sql<{ path: string }>`
    select '/identity/roles' as path from role_assignments
    where principal_id = ${principalId} and tenant_id = ${tenantId}
      and (workspace_id is not null or role_id <> all (${roleIds}::uuid[]))
    union all
    select '/identity/capabilities' from capability_assignments
    where principal_id = ${principalId} and tenant_id = ${tenantId} and capability_id <> all (${capabilityIds}::uuid[])
    union all
    select '/skills/invoke' from skill_assignments
    where principal_id = ${principalId} and tenant_id = ${tenantId} and skill_id <> all (${skillIds}::uuid[])
    limit 1`;
}

/** Returns one of the given names for which the agent has a stored value. */
export function findStoredSecret(tenantId: string, agentId: string, names: readonly string[]) {
  return sql<{ name: string }>`
    select name from agent_secrets
    where agent_id = ${agentId} and name = any (${names}::text[]) and tenant_id = ${tenantId} limit 1`;
}
