import { sql } from '@baton/kernel/sql';

export function findRolesOfTenant(tenantId: string, slugs: readonly string[]) {
  return sql<{ slug: string; id: string }>`
    select slug, id from roles where tenant_id = ${tenantId} and workspace_id is null and slug = any (${slugs}::text[])`;
}

export function findCapabilitiesOfNames(tenantId: string, names: readonly string[]) {
  return sql<{ name: string; id: string }>`
    select name, id from capabilities where tenant_id = ${tenantId} and name = any (${names}::text[])`;
}

/** Two rows at most: whether it stands more than once is all that is asked. */
export function findWorkspacesOfSlug(tenantId: string, slug: string) {
  return sql<{ id: string }>`
    select id from workspaces
    where tenant_id::text || slug = ${tenantId}::text || ${slug}::text and tenant_id = ${tenantId} and slug = ${slug} limit 2`;
}

/** Of each key its newest active version, with the skill that executes its tasks. */
export function findTypesOfKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string; skill: string | null }>`
    select distinct on (key) key, (execution ->> 'skill') || '@' || (execution ->> 'version') as skill
    from task_types
    where tenant_id = ${tenantId} and key = any (${keys}::text[]) and status = 'active'
    order by key, version desc`;
}
