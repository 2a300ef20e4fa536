import { sql } from '@baton/kernel/database/sql';

/**
 * Lets one command at a time change the tenant's tree of workspaces, until its commit. An advisory lock, as of the relations
 * of tasks; two tenants with the same hash of 64 bits would only wait for each other.
 */
export function takeTreeLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`workspaces/${tenantId}`}, 0))`;
}

/** Keeps the tree as it is until the commit, together with all others that do. */
export function shareTreeLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock_shared(hashtextextended(${`workspaces/${tenantId}`}, 0))`;
}
