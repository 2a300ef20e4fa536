import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { statusOfMail, statusOfSlack } from '../channels.ts';
import type { Context } from '../context.ts';
import { faultOfAddress } from '../email-address.ts';
import { fail } from '../errors.ts';
import { isKind, kindNames } from '../kinds.ts';
import {
  type NotificationPreferences,
  type NotificationPreferencesChange,
  type OwnPreferencesRow,
  type PreferencesRow,
  preferencesOf,
} from './preference.ts';
import { preferencesUpdated } from './preferences.events.ts';
import { findOwnPreferences, upsertMailOff, upsertPreferences } from './preferences.sql.ts';

/**
 * The maximum number of times that a person enters another address in a day: nobody verifies that it is theirs, and
 * e-mails are sent to it.
 */
const addressChangesMax = 5;

/** @throws Refusal `not_a_person` */
export async function getPreferences(context: Context): Promise<NotificationPreferences> {
  requirePerson(context);
  return shownTo(context, await getStored(context));
}

async function getStored({ db, tenantId, caller }: Context): Promise<OwnPreferencesRow> {
  return (await db.row(findOwnPreferences(tenantId, caller.principalId))) as OwnPreferencesRow;
}

function shownTo({ settings }: Context, row: OwnPreferencesRow): NotificationPreferences {
  return preferencesOf(row, settings.CP_MAIL_ALLOWED_DOMAINS, {
    mail: statusOfMail(settings),
    slack: statusOfSlack(settings),
  });
}

/**
 * Replaces the caller's preferences; sending the same ones again changes nothing.
 * @throws Refusal `not_a_person`, `permission_denied`, `unknown_notification_kind`, `invalid_email_address`,
 * `version_conflict`, `too_many_address_changes`
 */
export async function putPreferences(
  context: Context,
  ifMatch: number,
  { email, kinds, digestIntervalSeconds }: NotificationPreferencesChange,
): Promise<NotificationPreferences> {
  requirePersonWhoWrites(context);
  const unknown = Object.keys(kinds).filter((kind) => !isKind(kind));
  if (unknown.length > 0) fail('unknown_notification_kind', { unknown, known: kindNames });
  const { db, tenantId, caller, settings } = context;
  const fault = email === null ? undefined : faultOfAddress(email, settings.CP_MAIL_ALLOWED_DOMAINS);
  if (fault !== undefined) fail('invalid_email_address', { field: 'email', reason: fault });
  const { principalId } = caller;
  const values = {
    expectedVersion: ifMatch,
    tenantId,
    principalId,
    email,
    modes: kinds,
    digestIntervalSeconds,
  };
  const stored = await db.row(upsertPreferences(values, addressChangesMax));
  if (stored !== undefined) {
    noteUpdate(context, stored, 'api');
    return getPreferences(context);
  }
  const unchanged = await getStored(context);
  requireVersionOf('notification_preferences', { id: principalId, version: unchanged.version }, ifMatch);
  if (unchanged.email !== email) fail('too_many_address_changes', { max: addressChangesMax });
  return shownTo(context, unchanged);
}

/**
 * Ends somebody's e-mails of one kind, through a signed link. There is no caller: the link identifies the person.
 * @returns whether anything changed
 */
export async function turnMailOff(
  context: Context,
  { principalId, kind }: { principalId: string; kind: string },
): Promise<boolean> {
  const stored = await context.db.row(upsertMailOff(context.tenantId, principalId, kind));
  if (stored !== undefined) noteUpdate(context, stored, 'link');
  return stored !== undefined;
}

/** @throws Refusal `not_a_person` */
export function requirePerson({ caller }: Context): void {
  if (caller.kind !== 'human') fail('not_a_person');
}

const writeScopes = ['control-plane:write', 'control-plane:admin'];

/**
 * A caller's own preferences need no permission, so the scopes of the token are checked here: a token that only reads
 * must change nothing.
 * @throws Refusal `not_a_person`, `permission_denied`
 */
export function requirePersonWhoWrites(context: Context): void {
  requirePerson(context);
  const { scopes } = context.caller;
  if (scopes !== undefined && !writeScopes.some((scope) => scopes.has(scope)))
    fail('permission_denied', { required: [writeScopes[0]] });
}

function noteUpdate(context: Context, row: PreferencesRow, via: 'api' | 'link'): void {
  const { principal_id: principalId, modes, digest_interval_seconds: digestIntervalSeconds, email } = row;
  const kinds = Object.fromEntries(Object.entries(modes).map(([kind, chosen]) => [kind, chosen ?? {}]));
  const payload = { principalId, kinds, digestIntervalSeconds, hasOwnEmail: email !== null, via };
  emit(context, preferencesUpdated, { entityId: principalId }, payload);
}
