import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '@baton/kernel/refusal';
import { auditDraft } from '../../../records/audit.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type HeldName, takeName } from '../../upstream-directory/accounts.ts';
import { fieldsOf, type UpstreamUser } from '../../upstream-directory/roads.ts';
import { UpstreamError } from '../../upstream-directory/upstream-error.ts';
import type { UpstreamSource } from '../../upstream-directory/upstream-directory.ts';
import { sourceOf } from '../protocol/scim-access.ts';
import type { ScimSource } from '../../caller.ts';
import { readId, requireMatch } from '../protocol/scim-answer.ts';
import { writeInTurn } from '../protocol/turns.ts';
import { findAccountOf, findActiveOf, findTaken, linkAccount } from './user-accounts.sql.ts';
import { findUser, lockUser, type UserContent, type UserRow } from './users.sql.ts';

/**
 * Writes of users in their transaction, with the directory of the source asked first where it writes to one (contract,
 * section 10.8). No connection is held while it is asked; see `docs/decisions/0108-upstream-directory.md`.
 */

const attemptsMax = 3;
/** A rival that makes the same user ends within its roads to the directory. */
const rivalWaitMsMax = 12_000;
const rivalPollMs = 200;
const unavailable = { headers: { 'retry-after': '2' } };

/** The user was changed while the directory was asked. */
class ChangedMeanwhile extends Error {}

/**
 * Runs the creation of a user; `link` gives the stored user its account.
 * @throws Refusal `scim_uniqueness` before the directory is asked, `scim_upstream_refused`, `unavailable`
 */
export async function creating<T>(
  context: Context,
  content: UserContent,
  work: (inside: Context, link: (userId: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const source = sourceOf(context);
  const { upstream } = source;
  if (upstream === undefined) return writeInTurn(context, (inside) => work(inside, async () => undefined));
  const name = await takeFreeName(context, source, content);
  const account = await accountFor(context, source, upstream, name, content);
  try {
    return await writeInTurn(context, async (inside) => {
      if (!(await name.end(inside.db))) fail('unavailable', {}, unavailable);
      return work(inside, async (userId) => {
        await inside.db.run(linkAccount(userId, account));
      });
    });
  } catch (error) {
    await giveBack(context, upstream, name, account);
    throw error;
  }
}

/**
 * Runs the change or the end of a user: the directory hears of it when the user becomes active or ceases to be.
 * @param contentAfter what the change makes of a user; undefined for its end
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`, `scim_uniqueness`, `scim_upstream_refused`, `unavailable`
 */
export async function changing<T>(
  context: Context,
  id: string,
  action: AuditAction,
  contentAfter: ((row: UserRow) => UserContent) | undefined,
  work: (inside: Context, row: UserRow) => Promise<T>,
): Promise<T> {
  const source = sourceOf(context);
  const { upstream } = source;
  if (upstream === undefined)
    return writeInTurn(context, async (inside) => work(inside, await lockForChange(inside, id)));
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const seen = (await context.pool.row(findUser(source.id, readId(id)))) ?? fail('scim_not_found');
    requireMatch(context.headers, seen.version);
    const account = (await context.pool.row(findAccountOf(seen.id)))?.upstream_id ?? undefined;
    const activeAfter = (row: UserRow) => contentAfter?.(row).active ?? false;
    const isSwitch = (row: UserRow) => account !== undefined && row.active !== activeAfter(row);
    const isSwitched = isSwitch(seen);
    if (isSwitched && account !== undefined) {
      if (contentAfter !== undefined) await refuseTaken(context, source, contentAfter(seen), seen.id);
      await context.upstream
        .switchActive(upstream, account, activeAfter(seen))
        .catch((error: unknown) => refuse(context, action, ['scim_user', seen.id], error));
    }
    try {
      return await writeInTurn(context, async (inside) => {
        const row = await lockForChange(inside, id);
        const isOvertaken = isSwitched ? row.version !== seen.version : isSwitch(row);
        if (isOvertaken) throw new ChangedMeanwhile();
        return work(inside, row);
      });
    } catch (error) {
      if (isSwitched && account !== undefined) await setRight(context, upstream, account);
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
  }
  return fail('unavailable', {}, unavailable);
}

async function lockForChange(context: Context, id: string): Promise<UserRow> {
  const row = (await context.db.row(lockUser(sourceOf(context).id, readId(id)))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
  return row;
}

async function refuseTaken(
  { pool }: Context,
  source: ScimSource,
  content: UserContent,
  exceptId: string | null,
): Promise<void> {
  if ((await pool.row(findTaken(source.id, content, exceptId)))?.is_taken) fail('scim_uniqueness');
}

/** Waits for a rival that makes the same user now: what becomes of it decides what is answered here. */
async function takeFreeName(context: Context, source: ScimSource, content: UserContent): Promise<HeldName> {
  const { tenantId, id: sourceId } = source;
  const lateMs = performance.now() + rivalWaitMsMax;
  for (;;) {
    await refuseTaken(context, source, content, null);
    const name = await takeName(context.pool, { sourceId, tenantId, userName: content.userName });
    if (name !== undefined) return name;
    if (performance.now() > lateMs) fail('unavailable', {}, unavailable);
    await sleep(rivalPollMs);
  }
}

/** The account that is left from before, or a new one. */
async function accountFor(
  context: Context,
  source: ScimSource,
  upstream: UpstreamSource,
  name: HeldName,
  content: UserContent,
): Promise<string> {
  let { leftId } = name;
  try {
    // A rival may have stored the user between our look and our hold.
    await refuseTaken(context, source, content, null);
    if (leftId !== undefined) {
      try {
        await context.upstream.switchActive(upstream, leftId, content.active);
        return leftId;
      } catch (error) {
        if (!(error instanceof UpstreamError && error.isGone)) throw error;
        leftId = undefined;
      }
    }
    const isFree = async (id: string) => (await context.pool.row(findActiveOf(source.id, id))) === undefined;
    return await context.upstream.create(upstream, accountOf(content), { sinceMs: name.triedMs, isFree });
  } catch (error) {
    const isSettled = error instanceof UpstreamError ? error.isSettled : error instanceof Refusal;
    await name.letGo(context.pool, leftId, isSettled);
    return refuse(context, 'scim.users.create', ['provisioning_source', source.id], error);
  }
}

function accountOf({ userName, externalId, displayName, active, document }: UserContent): UpstreamUser {
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

/** The account of a user that was not stored: it signs nobody in, and whoever asks for the name next gets it. */
async function giveBack(
  context: Context,
  upstream: UpstreamSource,
  name: HeldName,
  account: string,
): Promise<void> {
  try {
    // Not ours any more: the commit came through although its answer did not, or another request has the name.
    if (!(await name.note(context.pool, account))) return;
    // Before the name is let go: whoever takes it next may switch the account on.
    await context.upstream
      .switchActive(upstream, account, false)
      .finally(() => name.letGo(context.pool, account, true));
  } catch (error) {
    tellLeft(context, upstream, error);
  }
}

/** Lets the account follow what is stored, after a change that was not. */
async function setRight(context: Context, upstream: UpstreamSource, account: string): Promise<void> {
  const isActive = async () =>
    (await context.pool.row(findActiveOf(upstream.sourceId, account)))?.active ?? false;
  try {
    let active = await isActive();
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      await context.upstream.switchActive(upstream, account, active);
      const sent = active;
      active = await isActive();
      // A rival may have stored another state while this one was sent.
      if (active === sent) return;
    }
  } catch (error) {
    tellLeft(context, upstream, error);
  }
}

function tellLeft({ log, requestId }: Context, { sourceId }: UpstreamSource, error: unknown): void {
  log.error(
    { err: error, provisioningSourceId: sourceId, requestId },
    'a change in the directory of a source could not be taken back',
  );
}

/** Nothing is stored; the audit record says why. @throws Refusal `scim_upstream_refused`, or what was no such failure */
async function refuse(
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
