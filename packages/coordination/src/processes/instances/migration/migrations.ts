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
  updateToQuiet,
} from './migrations.sql.ts';

/** How far the instances of each version have gone on by a later one (docs/reference/processes.md#migration). */

export type { DueMigrationRow, MigrationRow };

/** How often it is looked for instances that come late, and for how long after a version was published. */
const againSeconds = 10;
const settledSeconds = 300;

/** Migrations whose instances are looked for, of all tenants. */
export function dueMigrations(db: Db, after: QueuePosition, rowsMax: number): Promise<DueMigrationRow[]> {
  return db.rows(findDueMigrations(after, rowsMax));
}

/** Undefined where it has ended, or a newer version took its place. */
export function activeMigration({ db, tenantId }: Context, id: string): Promise<MigrationRow | undefined> {
  return db.row(findActiveMigration(tenantId, id));
}

/** By which version instances of this one go on. */
export function migrationFrom(
  { db, tenantId }: Context,
  key: string,
  version: number,
): Promise<MigrationRow | undefined> {
  return db.row(findMigration(tenantId, key, version));
}

/** Call it last: two workers at the same migration wait for each other from here on. */
export async function noteProgress(
  { db, tenantId }: Context,
  id: string,
  { migrated, refused }: Pick<MigrationRow, 'migrated' | 'refused'>,
): Promise<void> {
  await db.run(updateProgress(tenantId, id, migrated, refused));
}

/** None was found: they are looked for again, and in the end no more. */
export async function noteQuiet({ db, tenantId }: Context, id: string): Promise<void> {
  await db.run(updateToQuiet(tenantId, id, againSeconds, settledSeconds));
}
