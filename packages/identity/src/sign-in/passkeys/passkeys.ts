import { isMember, lockMember } from '../../directory/principals/principals.ts';
import { endBrowserSessions } from '../../directory/revocation/browser-sessions.ts';
import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { emit } from '../../records/journal/journal.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { resolveSession } from '../browser-sessions/browser-sessions.ts';
import { lockSignedIn, resolveRecentSession } from '../browser-sessions/recent-sign-in.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Passkey, type PasskeyRow, passkeyOf } from './passkey.ts';
import { passkeyRemoved, passkeyUpdated } from './passkeys.events.ts';
import {
  deletePasskey,
  deletePasskeysOf,
  findOtherWay,
  findPasskeys,
  lockPasskey,
  updatePasskeyName,
} from './passkeys.sql.ts';

/** The passkey, and the actor in the audit record if it isn't the caller. */
interface PasskeyOrder {
  readonly tenantId: string;
  readonly principalId: string;
  readonly passkeyId: string;
  readonly actor?: string;
}

/** @throws Refusal `principal_not_found` */
export async function listPasskeys(
  { db }: Context,
  tenantId: string,
  principalId: string,
): Promise<{ items: Passkey[] }> {
  if (!(await isMember(db, tenantId, principalId))) fail('principal_not_found');
  return { items: (await db.rows(findPasskeys(tenantId, principalId))).map(passkeyOf) };
}

/**
 * Renames a passkey; the same name changes nothing.
 * @throws Refusal `passkey_not_found`
 */
export async function renamePasskey(
  context: Context,
  order: PasskeyOrder,
  name: string,
): Promise<PasskeyRow> {
  const passkey = await requirePasskey(context, order);
  if (passkey.name === name) return passkey;
  const { tenantId, principalId, passkeyId } = order;
  await context.db.run(updatePasskeyName(passkeyId, name));
  emit(context, passkeyUpdated, { tenantId, aggregateId: passkeyId }, { passkeyId, principalId });
  record(context, order, 'passkeys.update', `principal:${principalId} changed:name`);
  return { ...passkey, name };
}

/**
 * Removes a passkey and ends the sessions that it began.
 * @param withLast removes the passkey even if it is the person's last way to sign in
 * @throws Refusal `passkey_not_found`, `last_passkey`
 */
export async function removePasskey(
  context: Context,
  order: PasskeyOrder,
  withLast = false,
): Promise<undefined> {
  const { db } = context;
  const { tenantId, principalId, passkeyId } = order;
  await requirePasskey(context, order);
  const otherWay = await db.row(findOtherWay(tenantId, principalId, passkeyId));
  if (!withLast && otherWay?.exists !== true) fail('last_passkey');
  await db.run(deletePasskey(passkeyId));
  const reason = 'passkey_removed';
  recordRemoval(context, order, 'removed');
  const by = order.actor === undefined ? {} : { actor: order.actor };
  await endBrowserSessions(context, { principalId, passkeyId, reason, ...by });
}

/** Removes every passkey of a person in a tenant. Call it with the principal's row locked. */
export async function removeAllPasskeys(
  context: Context,
  { tenantId, principalId, ...rest }: Omit<PasskeyOrder, 'passkeyId'> & { reason: string },
): Promise<void> {
  for (const { id } of await context.db.rows(deletePasskeysOf(tenantId, principalId)))
    recordRemoval(context, { tenantId, principalId, passkeyId: id, ...rest }, rest.reason);
}

/**
 * The passkey, with the row of its person locked, so that two concurrent removals can't remove the last two passkeys.
 */
async function requirePasskey({ db }: Context, order: PasskeyOrder): Promise<PasskeyRow> {
  const { tenantId, principalId, passkeyId } = order;
  await lockMember(db, tenantId, principalId);
  return (await db.row(lockPasskey(tenantId, principalId, passkeyId))) ?? fail('passkey_not_found');
}

function recordRemoval(context: Context, order: PasskeyOrder, reason: string): void {
  const { tenantId, principalId, passkeyId } = order;
  emit(context, passkeyRemoved, { tenantId, aggregateId: passkeyId }, { passkeyId, principalId, reason });
  record(context, order, 'passkeys.remove', `principal:${principalId} reason:${reason}`);
}

function record(
  context: Context,
  { tenantId, passkeyId, actor }: PasskeyOrder,
  action: 'passkeys.update' | 'passkeys.remove',
  reason: string,
): void {
  const by = actor === undefined ? {} : { actor };
  audit(context, { tenantId, action, resource: ['passkey', passkeyId], reason, ...by });
}

/** The same operations for the person whose browser session is presented. */

/** @throws Refusal `invalid_token`, `rate_limited` */
export async function listOwnPasskeys(context: Context, secret: string): Promise<{ items: Passkey[] }> {
  const { row } = await resolveSession(context, secret, 'browser_sessions.use');
  const passkeys = await context.db.rows(findPasskeys(row.tenant_id, row.principal_id));
  return { items: passkeys.map(passkeyOf) };
}

/** @throws Refusal `invalid_token`, `rate_limited`, `authentication_context_expired`, `passkey_not_found` */
export function renameOwnPasskey(
  context: Context,
  { token, passkeyId, name }: { token: string; passkeyId: string; name: string },
): Promise<PasskeyRow> {
  return asOwner(context, { token, passkeyId, action: 'passkeys.update' }, (inside, order) =>
    renamePasskey(inside, order, name),
  );
}

/**
 * @throws Refusal `invalid_token`, `rate_limited`, `authentication_context_expired`, `passkey_not_found`,
 * `last_passkey`
 */
export function removeOwnPasskey(
  context: Context,
  { token, passkeyId }: { token: string; passkeyId: string },
): Promise<undefined> {
  return asOwner(context, { token, passkeyId, action: 'passkeys.remove' }, (inside, order) =>
    removePasskey(inside, order),
  );
}

async function asOwner<T>(
  context: Context,
  { token, passkeyId, action }: { token: string; passkeyId: string; action: AuditAction },
  work: (inside: Context, order: PasskeyOrder) => Promise<T>,
): Promise<T> {
  const row = await resolveRecentSession(context, token, action);
  const { tenant_id: tenantId, principal_id: principalId } = row;
  const order = { tenantId, principalId, passkeyId, actor: principalId };
  return recordedTransaction(context, async (inside) => {
    await lockSignedIn(inside, row);
    return work(inside, order);
  });
}
