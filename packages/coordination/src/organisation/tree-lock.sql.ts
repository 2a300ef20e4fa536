import { sql } from '@baton/kernel/database/sql';

/**
 * Serializes changes to the tenant's tree of workspaces until the commit. An advisory lock, like that of task
 * relations; two tenants whose 64-bit hashes collide would only wait for each other.
 */
export function takeTreeLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`workspaces/${tenantId}`}, 0))`;
}

/** Shared lock: keeps the tree unchanged until the commit. */
export function shareTreeLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock_shared(hashtextextended(${`workspaces/${tenantId}`}, 0))`;
}
