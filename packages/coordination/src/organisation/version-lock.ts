import type { Context } from './context.ts';
import { takePackageLock, takeVersionLock } from './version-lock.sql.ts';

/** Taken by whatever gives a key its next version, so that each gets a number of its own; until the commit. */
export async function lockVersions(
  { db, tenantId }: Context,
  kind: Parameters<typeof takeVersionLock>[0],
  key: string,
): Promise<void> {
  await db.run(takeVersionLock(kind, tenantId, key));
}

/**
 * Taken first of all by whatever links objects to packages: of two such commands one waits, and so do new versions of
 * objects, which then have the link. Until the commit.
 */
export async function lockPackages({ db, tenantId }: Context): Promise<void> {
  await db.run(takePackageLock(tenantId));
}
