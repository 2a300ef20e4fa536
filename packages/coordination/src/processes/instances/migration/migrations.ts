import type { Db } from '@baton/kernel/database/db';
import type { QueuePosition } from '../../../service/queue-walk.ts';
import type { Context } from '../../context.ts';
import {
  type DueMigrationRow,
  findActiveMigration,
  findDueMigrations,
  findMigration,
  type MigrationRow,
  updateProgress,
  updateToNoneFound,
} from './migrations.sql.ts';

/** The progress of migrations (docs/reference/processes.md#migration). */

export type { DueMigrationRow, MigrationRow };

/** The interval between searches for late instances, and the time after a publication during which they continue. */
const againSeconds = 10;
const settledSeconds = 300;

/** Migrations of all tenants whose instances are due. */
export function listDueMigrations(db: Db, after: QueuePosition, rowsMax: number): Promise<DueMigrationRow[]> {
  return db.rows(findDueMigrations(after, rowsMax));
}

/** Undefined if the migration has ended, or a newer version replaced it. */
export function activeMigration({ db, tenantId }: Context, id: string): Promise<MigrationRow | undefined> {
  return db.row(findActiveMigration(tenantId, id));
}

/** The migration of instances of this version, with its target version. */
export function migrationFrom(
  { db, tenantId }: Context,
  key: string,
  version: number,
): Promise<MigrationRow | undefined> {
  return db.row(findMigration(tenantId, key, version));
}

/** Call this last: afterwards, other workers on the same migration wait for this transaction. */
export async function recordProgress(
  { db, tenantId }: Context,
  id: string,
  { migrated, refused }: Pick<MigrationRow, 'migrated' | 'refused'>,
): Promise<void> {
  await db.run(updateProgress(tenantId, id, migrated, refused));
}

/** Schedules the next search after one that found no instance, or ends the migration. */
export async function recordNoneFound({ db, tenantId }: Context, id: string): Promise<void> {
  await db.run(updateToNoneFound(tenantId, id, againSeconds, settledSeconds));
}
