import { sql } from '@baton/kernel/database/sql';

/**
 * Lets one command at a time give the next version of a key, until its commit. Two keys with the same hash of 64 bits would
 * only wait for each other. Whoever links objects to packages is waited for before, or a version that is made meanwhile
 * would miss the link.
 */
export function takeVersionLock(
  kind:
    | 'task_types'
    | 'artifact_types'
    | 'project_templates'
    | 'skills'
    | 'rules'
    | 'connection_types'
    | 'process_definitions',
  tenantId: string,
  key: string,
) {
  return sql`
    with links as materialized (
      select pg_advisory_xact_lock_shared(hashtextextended(${`packages/${tenantId}`}, 0))
    )
    select pg_advisory_xact_lock(hashtextextended(${`${kind}/${tenantId}/${key}`}, 0)) from links`;
}

/** Lets nobody make versions of catalogue objects in a tenant meanwhile, until the commit. */
export function takePackageLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`packages/${tenantId}`}, 0))`;
}
