import { sql } from '@baton/kernel/sql';

/**
 * Lets one command at a time give the next version of a key, until its commit. Two keys with the same hash of 64 bits would
 * only wait for each other.
 */
export function takeVersionLock(
  kind: 'task_types' | 'artifact_types' | 'project_templates',
  tenantId: string,
  key: string,
) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`${kind}/${tenantId}/${key}`}, 0))`;
}
