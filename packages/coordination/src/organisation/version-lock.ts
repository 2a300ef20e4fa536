import type { Context } from './context.ts';
import { takePackageLock, takeVersionLock } from './version-lock.sql.ts';

/**
 * Acquire this lock before a key gets its next version, so that version numbers are unique; it is held until the
 * commit.
 */
export async function lockVersions(
  { db, tenantId }: Context,
  kind: Parameters<typeof takeVersionLock>[0],
  key: string,
): Promise<void> {
  await db.run(takeVersionLock(kind, tenantId, key));
}

/**
 * Commands that link objects to packages acquire this lock first: it serializes them and delays new versions of
 * objects, which then get the link. It is held until the commit.
 */
export async function lockPackages({ db, tenantId }: Context): Promise<void> {
  await db.run(takePackageLock(tenantId));
}
