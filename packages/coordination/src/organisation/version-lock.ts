import type { Context } from './context.ts';
import { takeVersionLock } from './version-lock.sql.ts';

/** Taken by whatever gives a key its next version, so that each gets a number of its own; until the commit. */
export async function lockVersions(
  { db, tenantId }: Context,
  kind: Parameters<typeof takeVersionLock>[0],
  key: string,
): Promise<void> {
  await db.run(takeVersionLock(kind, tenantId, key));
}
