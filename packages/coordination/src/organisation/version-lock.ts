import type { Context } from './context.ts';
import { takePackageLock, takeVersionLock } from './version-lock.sql.ts';

/** Acquire it before a key gets its next version, so that version numbers are unique; held until the commit. */
export async function lockVersions(
  { db, tenantId }: Context,
  kind: Parameters<typeof takeVersionLock>[0],
  key: string,
): Promise<void> {
  await db.run(takeVersionLock(kind, tenantId, key));
}

/**
 * Commands that link objects to packages acquire it first: it serializes them and delays new versions of objects, which
 * then get the link. Held until the commit.
 */
export async function lockPackages({ db, tenantId }: Context): Promise<void> {
  await db.run(takePackageLock(tenantId));
}
