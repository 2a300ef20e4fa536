import { randomBytes, randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import type { PresentedSessionRow } from '../browser-sessions/browser-session.ts';
import { lockSignedIn, resolveRecentSession } from '../browser-sessions/recent-sign-in.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Challenge, makeChallenge, openChallenge, useChallenge } from './challenges.ts';
import type { CreatedPasskey, PasskeyOptions, PasskeyRow } from './passkey.ts';
import { passkeyRegistered } from './passkeys.events.ts';
import { findPasskeyIdentity, findPasskeys, insertPasskey, insertPasskeyIdentity } from './passkeys.sql.ts';
import { creationOptions, type VerifiedPasskey, verifyCreation } from './relying-party.ts';

const userHandleBytes = 32;

interface Person {
  readonly tenantId: string;
  readonly principalId: string;
}

/** The person who gets a new passkey, and the passkey's name in the authenticator's list. */
interface NewOwner extends Person {
  readonly userName: string;
  readonly displayName: string;
}

/**
 * The options for a new passkey. Nothing is stored for them.
 * @param replaces whether the new passkey will be the only one
 * @throws Refusal `too_many_passkeys`
 */
export async function optionsFor(
  context: Context,
  owner: NewOwner,
  what: Pick<Challenge, 'purpose' | 'about'>,
  replaces = false,
): Promise<PasskeyOptions> {
  const { db, settings } = context;
  const { tenantId, principalId, userName, displayName } = owner;
  const identity = await db.row(findPasskeyIdentity(tenantId, principalId));
  const passkeys = replaces ? [] : await refuseMany(db, settings, owner);
  const userHandle = identity?.subject ?? randomBytes(userHandleBytes).toString('base64url');
  const { challenge, state } = makeChallenge(context, { ...what, userHandle });
  const credentialIds = passkeys.map(({ credential_id }) => credential_id);
  const user = { userHandle, userName, displayName, credentialIds };
  return { publicKey: await creationOptions(settings, challenge, user), state };
}

/** A passkey whose creation was verified, with the challenge that it used. */
export interface VerifiedCreation {
  readonly passkey: VerifiedPasskey;
  readonly challenge: Challenge;
  readonly name: string;
}

/**
 * Verifies a new passkey, outside of any transaction.
 * @throws Refusal `passkey_rejected`
 */
export async function verifyCreated(
  context: Context,
  { state, credential, name }: CreatedPasskey,
  what: Pick<Challenge, 'purpose' | 'about'>,
): Promise<VerifiedCreation> {
  const challenge = openChallenge(context, state, what);
  if (challenge === undefined) fail('passkey_rejected', {}, { reason: 'unknown_or_expired_challenge' });
  const passkey = await verifyCreation(context.settings, challenge.challenge, credential);
  if (typeof passkey === 'string') fail('passkey_rejected', {}, { reason: passkey });
  return { passkey, challenge, name };
}

/**
 * Stores a verified passkey and, with a person's first one, the external identity of their passkeys. Call it with the
 * principal's row locked.
 * @throws Refusal `passkey_rejected` for a used challenge, `too_many_passkeys`, `identity_disabled`, `passkey_exists`
 */
export async function storePasskey(
  context: Context,
  person: Person,
  { passkey, challenge, name }: VerifiedCreation,
): Promise<{ row: PasskeyRow; externalIdentityId: string }> {
  const { db, settings } = context;
  const { tenantId, principalId } = person;
  if (!(await useChallenge(db, challenge, settings)))
    fail('passkey_rejected', {}, { reason: 'replayed_challenge' });
  await refuseMany(db, settings, person);
  const externalIdentityId = await requireIdentity(context, person, challenge.userHandle);
  const made = { id: randomUUID(), tenantId, principalId, externalIdentityId, name, ...passkey };
  const row = (await db.row(insertPasskey(made))) ?? fail('passkey_exists');
  const payload = { passkeyId: row.id, principalId, externalIdentityId };
  emit(context, passkeyRegistered, { tenantId, aggregateId: row.id }, payload);
  audit(context, {
    tenantId,
    action: 'passkeys.register',
    resource: ['passkey', row.id],
    reason: `principal:${principalId}`,
    actor: principalId,
  });
  return { row, externalIdentityId };
}

/** The external identity of the passkeys; its subject identifies the person to the authenticator. */
async function requireIdentity(context: Context, person: Person, userHandle: string): Promise<string> {
  const { db, settings } = context;
  const { tenantId, principalId } = person;
  const known = await db.row(findPasskeyIdentity(tenantId, principalId));
  // Another first passkey was registered sooner, with a different handle.
  if (known !== undefined && known.subject !== userHandle)
    fail('passkey_rejected', {}, { reason: 'another_user_handle' });
  // Nobody could sign in with the passkey, and an invitation would be used up in vain.
  if (known !== undefined && known.status !== 'active') fail('identity_disabled');
  if (known !== undefined) return known.id;
  const made = { id: randomUUID(), tenantId, principalId, issuer: settings.relyingParty.issuer, userHandle };
  const identity = (await db.row(insertPasskeyIdentity(made))) ?? fail('passkey_exists');
  const externalIdentityId = identity.id;
  const about = { tenantId, aggregateId: externalIdentityId };
  emit(context, externalIdentityLinked, about, { externalIdentityId, principalId });
  audit(context, {
    tenantId,
    action: 'external_identities.link',
    resource: ['external_identity', externalIdentityId],
    actor: principalId,
  });
  return externalIdentityId;
}

async function refuseMany(db: Db, settings: Context['settings'], { tenantId, principalId }: Person) {
  const passkeys = await db.rows(findPasskeys(tenantId, principalId));
  if (passkeys.length >= settings.IAM_PASSKEYS_PER_PERSON_MAX) fail('too_many_passkeys');
  return passkeys;
}

/**
 * The options for another passkey for the person whose session is presented.
 * @throws Refusal `invalid_token`, `rate_limited`, `authentication_context_expired`, `too_many_passkeys`
 */
export async function ownRegistrationOptions(context: Context, secret: string): Promise<PasskeyOptions> {
  const row = await resolveRecentSession(context, secret, 'passkeys.register');
  const { tenant_id: tenantId, principal_id: principalId, display_name: displayName } = row;
  const owner = { tenantId, principalId, userName: displayName, displayName };
  return optionsFor(context, owner, purposeOf(row));
}

/**
 * Adds a passkey for the person whose session is presented.
 * @throws Refusal, in the order of the endpoint's `errors`
 */
export async function registerOwnPasskey(
  context: Context,
  { token, ...created }: CreatedPasskey & { token: string },
): Promise<PasskeyRow> {
  const row = await resolveRecentSession(context, token, 'passkeys.register');
  const verified = await verifyCreated(context, created, purposeOf(row));
  const { tenant_id: tenantId, principal_id: principalId } = row;
  return recordedTransaction(context, async (inside) => {
    await lockSignedIn(inside, row);
    return (await storePasskey(inside, { tenantId, principalId }, verified)).row;
  });
}

function purposeOf({ tenant_id, principal_id }: PresentedSessionRow) {
  return { purpose: 'register', about: `${tenant_id} ${principal_id}` } as const;
}
