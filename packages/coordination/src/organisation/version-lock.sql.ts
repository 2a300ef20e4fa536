import { sql } from '@baton/kernel/database/sql';

/**
 * Serializes the creation of versions of a key until the commit. Two keys whose 64-bit hashes collide would only wait
 * for each other. The statement first waits for transactions that link objects to packages: a version created during
 * one of them would miss the link.
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

/** Blocks the creation of versions of catalogue objects in a tenant until the commit. */
export function takePackageLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`packages/${tenantId}`}, 0))`;
}
