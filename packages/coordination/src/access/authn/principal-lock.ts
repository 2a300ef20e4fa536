import type { Db } from '@baton/kernel/database/db';
import type { Caller } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type LockedPrincipalRow, lockPrincipalShared } from './caller.sql.ts';

export type { LockedPrincipalRow } from './caller.sql.ts';

/**
 * Locks the caller's row for the command, so that a disable either waits for the command or makes it fail. See
 * docs/reference/README.md#order-of-checks.
 * @throws Refusal `principal_not_active`
 */
export async function requireActiveCaller(tx: Db, { tenantId, principalId }: Caller): Promise<void> {
  const principal = await tx.row(lockPrincipalShared(tenantId, principalId));
  if (principal?.status !== 'active') fail('principal_not_active');
}

/**
 * Locks another principal to which this command assigns work or rights, so that it can't be disabled before the commit.
 * @throws Refusal `not_found`
 */
export async function lockPrincipal(
  { db, tenantId }: Context,
  principalId: string,
): Promise<LockedPrincipalRow> {
  return (await db.row(lockPrincipalShared(tenantId, principalId))) ?? fail('not_found', { principalId });
}
