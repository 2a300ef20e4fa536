import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findAdministrator, takeAdministratorsLock } from './role-bindings.sql.ts';

/**
 * After a change that removed `admin` from bindings: requires that somebody active, who has signed in at least once,
 * still has it, because an invitation may expire. If two administrators give up their rights at the same time, the
 * second one waits here and is refused. Call it after all row locks.
 * @throws Refusal `last_administrator`
 */
export async function requireAdministrator({ db, tenantId }: Context): Promise<void> {
  await db.run(takeAdministratorsLock(tenantId));
  if ((await db.row(findAdministrator(tenantId))) === undefined) fail('last_administrator');
}

/** Whether a change of permissions removes `admin`. */
export function takesAdmin(before: readonly string[], after: readonly string[]): boolean {
  return before.includes('admin') && !after.includes('admin');
}
