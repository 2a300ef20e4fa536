import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '@baton/kernel/http/refusal';
import { auditDraft } from '../../../records/audit.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import type { ScimSource } from '../../caller.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type NameReservation, reserveName } from '../../upstream-directory/name-reservations.ts';
import { fieldsOf, type UpstreamUser } from '../../upstream-directory/protocols.ts';
import type { UpstreamSource } from '../../upstream-directory/upstream-directory.ts';
import { UpstreamError } from '../../upstream-directory/upstream-error.ts';
import { sourceOf } from '../access/scim-access.ts';
import type { UserContent } from './user.ts';
import { countUpstreamRestore, findActiveByUpstreamId, findDuplicate } from './user-accounts.sql.ts';

/** The account that a user has in the upstream directory of its source. */

const attemptsMax = 3;
/**
 * Long enough for another request that creates the same user, which may try both protocols of `auto` for 5 seconds
 * each.
 */
const reservationWaitMsMax = 12_000;
const reservationPollMs = 200;

/**
 * Reserves the user name for a creation, and waits while another request has reserved it: the outcome of that request
 * determines the response. @throws Refusal `scim_uniqueness` when a user with the name exists; `unavailable` after 12
 * seconds
 */
export async function reserveUserName(
  context: Context,
  source: ScimSource,
  content: UserContent,
): Promise<NameReservation> {
  const { tenantId, id: sourceId } = source;
  const deadlineMs = performance.now() + reservationWaitMsMax;
  for (;;) {
    await refuseDuplicate(context, source, content, null);
    const name = await reserveName(context.pool, { sourceId, tenantId, userName: content.userName });
    if (name !== undefined) return name;
    if (performance.now() > deadlineMs) fail('unavailable', {}, { headers: { 'retry-after': '2' } });
    await sleep(reservationPollMs);
  }
}

/**
 * The account for a new user: one that an earlier user or attempt left, otherwise a new one.
 * @returns the id of the account in the directory
 * @throws Refusal `scim_uniqueness`, `scim_upstream_refused`, `unavailable`; the name is then released
 */
export async function obtainAccount(
  context: Context,
  source: ScimSource,
  upstream: UpstreamSource,
  name: NameReservation,
  content: UserContent,
): Promise<string> {
  let { leftId } = name;
  try {
    // Another request may have stored the user between the first check and the reservation.
    await refuseDuplicate(context, source, content, null);
    if (leftId !== undefined) {
      if (await reuseAccount(context, upstream, leftId, content.active)) return leftId;
      leftId = undefined;
    }
    const isFree = async (id: string) =>
      (await context.pool.row(findActiveByUpstreamId(source.id, id))) === undefined;
    const attempt = { sinceMs: name.triedMs, isFree };
    return await context.upstream.create(upstream, upstreamUserOf(content), attempt);
  } catch (error) {
    const isSettled = error instanceof UpstreamError ? error.isSettled : error instanceof Refusal;
    await name.release(context.pool, leftId, isSettled);
    return refuseUpstreamFailure(context, 'scim.users.create', ['provisioning_source', source.id], error);
  }
}

/**
 * Disables the account of a user that could not be stored, and keeps it for the next creation with that name. Failures
 * are logged.
 */
export async function releaseAccount(
  context: Context,
  upstream: UpstreamSource,
  name: NameReservation,
  account: string,
): Promise<void> {
  try {
    // Not stored if the commit succeeded although its response was lost, or if another request now has the name.
    if (!(await name.note(context.pool, account))) return;
    // Disabled before the name is released, because the next request with the name may enable the account.
    try {
      await context.upstream.setActive(upstream, account, false);
    } finally {
      await name.release(context.pool, account, true);
    }
  } catch (error) {
    logNotUndone(context, upstream, error);
  }
}

/**
 * Restores the account to the active state of its stored user, after a change that was not stored. Failures are logged.
 * This may overwrite a change that another request has sent but not stored yet; that request's transaction notices the
 * restoration and sends its change again.
 */
export async function restoreAccount(
  context: Context,
  upstream: UpstreamSource,
  account: string,
): Promise<void> {
  const of = [upstream.sourceId, account] as const;
  try {
    let active = (await context.pool.row(findActiveByUpstreamId(...of)))?.active ?? false;
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      await context.upstream.setActive(upstream, account, active);
      const sent = active;
      active = (await context.pool.row(countUpstreamRestore(...of)))?.active ?? false;
      // While this state was being sent, another request may have stored the opposite one.
      if (active === sent) return;
    }
    throw new Error(`the user was changed during each of ${attemptsMax} attempts`);
  } catch (error) {
    logNotUndone(context, upstream, error);
  }
}

/** @throws Refusal `scim_uniqueness` when another user of the source has the name or the external id */
export async function refuseDuplicate(
  { pool }: Context,
  source: ScimSource,
  content: UserContent,
  exceptId: string | null,
): Promise<void> {
  if ((await pool.row(findDuplicate(source.id, content, exceptId)))?.is_taken) fail('scim_uniqueness');
}

/**
 * Refuses a write that the directory rejected. The write is not stored; the audit log contains the reason. @throws
 * Refusal `scim_upstream_refused`; any other error unchanged
 */
export async function refuseUpstreamFailure(
  context: Context,
  action: AuditAction,
  resource: readonly [string, string],
  error: unknown,
): Promise<never> {
  if (!(error instanceof UpstreamError)) throw error;
  const { tenantId } = sourceOf(context);
  const reason = `upstream:${error.why}`;
  const entry = { tenantId, action, resource, outcome: 'denied', reason } as const;
  await context.ledger.record({ audit: auditDraft(context, entry) });
  return fail('scim_upstream_refused', {}, { reason, cause: error });
}

/** @returns false if the directory no longer has such an account */
async function reuseAccount(
  context: Context,
  upstream: UpstreamSource,
  id: string,
  active: boolean,
): Promise<boolean> {
  try {
    await context.upstream.setActive(upstream, id, active);
    return true;
  } catch (error) {
    if (error instanceof UpstreamError && error.isGone) return false;
    throw error;
  }
}

function upstreamUserOf({ userName, externalId, displayName, active, document }: UserContent): UpstreamUser {
  const { givenName, familyName } = fieldsOf(document['name']);
  const emails = Array.isArray(document['emails']) ? document['emails'].map(fieldsOf) : [];
  const email = emails.find(({ primary }) => primary === true) ?? emails[0];
  return {
    userName,
    externalId,
    displayName,
    active,
    givenName: textOf(givenName),
    familyName: textOf(familyName),
    email: textOf(email?.['value']),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function logNotUndone({ log, requestId }: Context, { sourceId }: UpstreamSource, error: unknown): void {
  log.error(
    { err: error, provisioningSourceId: sourceId, requestId },
    'a change in the directory of a source could not be reverted',
  );
}
