import type { LockedPerson } from '../../../directory/principals/principals.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import type { UpstreamSource } from '../../upstream-directory/upstream-directory.ts';
import { runWrite } from '../access/concurrency-limit.ts';
import { sourceOf } from '../access/scim-access.ts';
import { parseId, requireMatch } from '../protocol/resource-meta.ts';
import { lockPrincipal } from './people.ts';
import { isWantedActive, type UserContent, type UserRow } from './user.ts';
import { findUpstreamAccount, updateUpstreamId } from './user-accounts.sql.ts';
import {
  obtainAccount,
  refuseDuplicate,
  refuseUpstreamFailure,
  releaseAccount,
  reserveUserName,
  restoreAccount,
} from './user-accounts.ts';
import { findScimUser, lockScimUser } from './users.sql.ts';

/**
 * Runs the writes of users in their transaction. If the source has an upstream directory, the directory is called first
 * (see docs/reference/scim.md#upstream-directory), while no database connection is held; see
 * `docs/decisions/0108-upstream-directory.md`.
 */

const attemptsMax = 3;
const retrySoon = { headers: { 'retry-after': '2' } };

/** Another request changed the user, or its account in the directory, while the directory was being called. */
class ChangedMeanwhile extends Error {}

/**
 * Runs the creation of a user.
 * @param work stores the user, and calls `linkAccount` with its id
 * @throws Refusal `scim_uniqueness` before the directory is called, `scim_upstream_refused`, `unavailable`
 */
export async function runUserCreation<T>(
  context: Context,
  content: UserContent,
  work: (inside: Context, linkAccount: (userId: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const source = sourceOf(context);
  const { upstream } = source;
  if (upstream === undefined) return runWrite(context, (inside) => work(inside, async () => undefined));
  const name = await reserveUserName(context, source, content);
  const account = await obtainAccount(context, source, upstream, name, content);
  try {
    return await runWrite(context, async (inside) => {
      if (!(await name.end(inside.db))) fail('unavailable', {}, retrySoon);
      return work(inside, async (userId) => {
        await inside.db.run(updateUpstreamId(userId, account));
      });
    });
  } catch (error) {
    await releaseAccount(context, upstream, name, account);
    throw error;
  }
}

type ContentAfter = ((row: UserRow) => UserContent) | undefined;

/**
 * Runs the change or the deletion of a user. The directory is called only if the user has an account there and is
 * enabled or disabled by the change.
 * @param contentAfter returns the content of a user after the change; undefined for a deletion
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`, `scim_uniqueness`, `scim_upstream_refused`, `unavailable`
 */
export async function runUserChange<T>(
  context: Context,
  id: string,
  action: AuditAction,
  contentAfter: ContentAfter,
  work: (inside: Context, row: UserRow, person: LockedPerson) => Promise<T>,
): Promise<T> {
  const { upstream } = sourceOf(context);
  if (upstream === undefined)
    return runWrite(context, async (inside) => {
      const { row, person } = await lockForChange(inside, id, contentAfter);
      return work(inside, row, person);
    });
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const seen = await announceChange(context, upstream, id, action, contentAfter);
    try {
      return await runWrite(context, async (inside) => {
        const { row, person } = await lockForChange(inside, id, contentAfter);
        if (await isOvertaken(inside, seen, row)) throw new ChangedMeanwhile();
        return work(inside, row, person);
      });
    } catch (error) {
      if (seen.wasAnnounced && seen.account !== undefined)
        await restoreAccount(context, upstream, seen.account);
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
  }
  return fail('unavailable', {}, retrySoon);
}

/**
 * Reads the user without a lock, and enables or disables its account in the directory if the change enables or disables
 * the user.
 */
async function announceChange(
  context: Context,
  upstream: UpstreamSource,
  id: string,
  action: AuditAction,
  contentAfter: ContentAfter,
) {
  const source = sourceOf(context);
  const row = (await context.pool.row(findScimUser(source.id, parseId(id)))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
  const found = await context.pool.row(findUpstreamAccount(row.id));
  const account = found?.upstream_id ?? undefined;
  const activeAfter = (one: UserRow) => contentAfter?.(one).active ?? false;
  const mustAnnounce = (one: UserRow) => account !== undefined && isWantedActive(one) !== activeAfter(one);
  const wasAnnounced = mustAnnounce(row);
  if (wasAnnounced && account !== undefined) {
    if (contentAfter !== undefined) await refuseDuplicate(context, source, contentAfter(row), row.id);
    await context.upstream
      .setActive(upstream, account, activeAfter(row))
      .catch((error: unknown) => refuseUpstreamFailure(context, action, ['scim_user', row.id], error));
  }
  return { version: row.version, restores: found?.upstream_restores, account, mustAnnounce, wasAnnounced };
}

/**
 * Whether the directory must be called for the locked row although it wasn't, or was called for a row that has changed
 * since.
 */
async function isOvertaken(
  inside: Context,
  seen: Awaited<ReturnType<typeof announceChange>>,
  row: UserRow,
): Promise<boolean> {
  if (!seen.wasAnnounced) return seen.mustAnnounce(row);
  const found = await inside.db.row(findUpstreamAccount(row.id));
  return row.version !== seen.version || found?.upstream_restores !== seen.restores;
}

/** Locks a user after its principal, as a disable does; exclusively if the change disables the person. */
async function lockForChange(
  context: Context,
  id: string,
  contentAfter: ContentAfter,
): Promise<{ row: UserRow; person: LockedPerson }> {
  const { db } = context;
  const of = [sourceOf(context).id, parseId(id)] as const;
  const known = (await db.row(findScimUser(...of))) ?? fail('scim_not_found');
  requireMatch(context.headers, known.version);
  const alone = contentAfter?.(known).active !== true;
  const person = await lockPrincipal(db, known, { alone });
  const row = (await db.row(lockScimUser(...of))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
  // The user was changed in the meantime, so that the change now disables the person after all.
  const disables = !alone && isWantedActive(row) && contentAfter?.(row).active !== true;
  if (disables) await lockPrincipal(db, row, { alone: true });
  return { row, person };
}
