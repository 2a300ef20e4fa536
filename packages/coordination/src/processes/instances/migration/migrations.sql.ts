import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { ElementMap } from '@baton/process-engine/engine/inputs';
import type { QueuePosition } from '../../../service/queue-walk.ts';
import type { Tables } from '../../../service/schema.ts';

/** A migration of a version's instances, with its source and target version. */
export type MigrationRow = RowOf<Tables['process_migrations'], { map: ElementMap }>;

export function findMigration(tenantId: string, key: string, fromVersion: number) {
  return sql<MigrationRow>`
    select * from process_migrations
    where tenant_id = ${tenantId} and definition_key = ${key} and from_version = ${fromVersion}`;
}

export type DueMigrationRow = Pick<MigrationRow, 'id' | 'tenant_id'> & { next_at: string };

/** Migrations of all tenants whose instances are due. */
export function findDueMigrations([nextAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueMigrationRow>`
    select id, tenant_id, next_at from process_migrations
    where next_at <= clock_timestamp() and (next_at, id) > (${nextAt}::timestamptz, ${id}::uuid)
    order by next_at, id limit ${rowsMax}`;
}

/** Returns no row if the migration has ended, or a newer version replaced it. */
export function findActiveMigration(tenantId: string, id: string) {
  return sql<MigrationRow>`
    select * from process_migrations where id = ${id} and tenant_id = ${tenantId} and next_at is not null`;
}

export function updateProgress(tenantId: string, id: string, migrated: number, refused: number) {
  return sql`
    update process_migrations set migrated = migrated + ${migrated}, refused = refused + ${refused}
    where id = ${id} and tenant_id = ${tenantId}`;
}

/**
 * Schedules the next search after one that found no instance; ends the migration if its version is so old that no
 * instance of an earlier version can appear any more.
 */
export function updateToNoneFound(
  tenantId: string,
  id: string,
  againSeconds: number,
  settledSeconds: number,
) {
  return sql`
    update process_migrations m
    set next_at = case
      when published_at < clock_timestamp() - make_interval(secs => ${settledSeconds}) and not exists (
        select from process_migrations other
        where other.tenant_id = m.tenant_id and other.definition_key = m.definition_key
          and other.to_version = m.from_version and other.next_at is not null
      ) then null
      else clock_timestamp() + make_interval(secs => ${againSeconds}) end
    where id = ${id} and tenant_id = ${tenantId}`;
}
