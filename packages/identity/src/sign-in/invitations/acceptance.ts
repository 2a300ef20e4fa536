import { violatedConstraint } from '@baton/kernel/database/db';
import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import { lockMember, makeActive } from '../../directory/principals/principals.ts';
import { endBrowserSessions } from '../../directory/revocation/browser-sessions.ts';
import { audit, auditDraft } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { isSecretOf, parseInvitationToken } from '../../service/secrets.ts';
import { consoleClientId, type StartedSession } from '../browser-sessions/browser-session.ts';
import { type SessionStart, startBrowserSession } from '../browser-sessions/browser-sessions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { recordFederatedContext } from '../federation/federation.ts';
import type { FederatedSignInRequest } from '../federation/sign-in.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import { requireOpenProvider, shareVerifiedProvider } from '../identity-providers/identity-providers.ts';
import { projectGroups } from '../linking/group-projection.ts';
import { linkInvited } from '../linking/link-invited.ts';
import type { CreatedPasskey, PasskeyOptions } from '../passkeys/passkey.ts';
import { removeAllPasskeys } from '../passkeys/passkeys.ts';
import { optionsFor, storePasskey, verifyCreated } from '../passkeys/registration.ts';
import { recordPasskeySignIn } from '../passkeys/sign-in-record.ts';
import { verifyUpstreamToken } from '../upstream-token/upstream-token.ts';
import type { InvitationAcceptance, OpenInvitation } from './invitation.ts';
import { invitationAccepted } from './invitations.events.ts';
import { findPresentedInvitation, type PresentedInvitationRow, updateAccepted } from './invitations.sql.ts';

const providersShownMax = 50;
const replaced = 'replaced_by_recovery';

/** How a person accepts: what the transaction stores, and the session that begins with it. */
interface Entrance {
  readonly by: 'passkey' | 'identity_provider';
  enter(context: Context): Promise<Omit<SessionStart, 'tenantId' | 'principalId'>>;
}

/**
 * Reads a link for the person who opens it. Every link that can't be used gets the same response.
 * @throws Refusal `invalid_invitation`, `rate_limited`
 */
export async function readInvitation(context: Context, secret: string): Promise<OpenInvitation> {
  const row = await limited(context, secret, () => requireOpen(context, secret));
  return {
    kind: row.kind,
    tenantName: row.tenant_name,
    displayName: row.display_name,
    invitedBy: row.invited_by,
    message: row.message,
    role: row.role,
    replacesCredentials: row.replaces,
    expiresAt: row.expires_at,
    identityProviders: row.identity_providers,
  };
}

/**
 * The options for the passkey of the person who accepts.
 * @throws Refusal `invalid_invitation`, `rate_limited`, `too_many_passkeys`
 */
export async function invitationPasskeyOptions(context: Context, secret: string): Promise<PasskeyOptions> {
  const row = await limited(context, secret, () => requireOpen(context, secret));
  const { tenant_id: tenantId, principal_id: principalId, display_name: displayName } = row;
  const owner = { tenantId, principalId, displayName, userName: row.email ?? displayName };
  return optionsFor(context, owner, purposeOf(row), row.replaces);
}

/**
 * Accepts a link (see docs/reference/invitations.md#accept). The passkey or the link to a provider, the active person,
 * the used link, the sign-in and the session are all stored in one transaction, or none of them is.
 * @throws Refusal, in the order of the endpoint's `errors`
 */
export function acceptInvitation(context: Context, request: InvitationAcceptance): Promise<StartedSession> {
  return limited(context, request.token, () => acceptUnlimited(context, request));
}

async function acceptUnlimited(
  context: Context,
  { token, passkey, federation }: InvitationAcceptance,
): Promise<StartedSession> {
  const row = await requireOpen(context, token);
  const entrance =
    passkey === undefined
      ? await byProvider(context, row, federation as FederatedSignInRequest)
      : await byPasskey(context, row, passkey);
  const accepted = await recordedTransaction(context, (inside) => accept(inside, row, entrance)).catch(
    (error: unknown) => {
      // Fails if a concurrent sign-in has linked the same identity.
      if (violatedConstraint(error) === undefined) throw error;
      return fail('external_identity_conflict', {}, { cause: error });
    },
  );
  if (accepted === undefined) return refuse(context, row, 'accepted_meanwhile');
  context.counters.presented('invitation', 'accepted');
  return accepted;
}

/**
 * @returns undefined when the link can no longer be used
 */
async function accept(
  context: Context,
  row: PresentedInvitationRow,
  { by, enter }: Entrance,
): Promise<StartedSession | undefined> {
  const { db } = context;
  const { id: invitationId, tenant_id: tenantId, principal_id: principalId, kind, role } = row;
  // This row's lock serializes acceptances, sign-ins and new passkeys of the person, and makes a disable wait.
  const person = await lockMember(db, tenantId, principalId);
  const isUsable = person?.status === 'active' || (person?.status === 'paused' && row.activates);
  if (person === undefined || !isUsable) return undefined;
  if ((await db.row(updateAccepted(invitationId, by))) === undefined) return undefined;
  if (person.status === 'paused') await makeActive(context, { tenantId, principalId });
  if (row.replaces) await endCredentials(context, row);
  const start = await enter(context);
  const about = { tenantId, aggregateId: invitationId };
  const { externalIdentityId } = start;
  const payload = { invitationId, principalId, kind, role, by, externalIdentityId };
  emit(context, invitationAccepted, about, payload);
  audit(context, {
    tenantId,
    action: 'invitations.accept',
    resource: ['invitation', invitationId],
    reason: `${kind}:${row.public_prefix} by:${by}`,
    actor: principalId,
  });
  const started = await startBrowserSession(context, { ...start, tenantId, principalId });
  return { ...started, displayName: person.display_name };
}

async function endCredentials(context: Context, row: PresentedInvitationRow): Promise<void> {
  const { tenant_id: tenantId, principal_id: principalId } = row;
  const order = { tenantId, principalId, reason: replaced, actor: principalId };
  await removeAllPasskeys(context, order);
  await endBrowserSessions(context, order);
}

async function byPasskey(
  context: Context,
  row: PresentedInvitationRow,
  created: CreatedPasskey,
): Promise<Entrance> {
  const verified = await verifyCreated(context, created, purposeOf(row));
  const person = { tenantId: row.tenant_id, principalId: row.principal_id };
  return {
    by: 'passkey',
    async enter(inside) {
      const stored = await storePasskey(inside, person, verified);
      const { externalIdentityId } = stored;
      const { isSynced, isUserVerified } = verified.passkey;
      const signIn = { ...person, externalIdentityId, isSynced, isUserVerified };
      const { start } = await recordPasskeySignIn(inside, signIn);
      return { ...start, passkeyId: stored.row.id, clientId: consoleClientId };
    },
  };
}

/** Verifies a provider's token, outside of the transaction because the provider's keys may have to be fetched. */
async function byProvider(
  context: Context,
  row: PresentedInvitationRow,
  { identityProvider, token }: FederatedSignInRequest,
): Promise<Entrance> {
  const { tenant_id: tenantId, principal_id: principalId } = row;
  const provider = await requireProviderOfPeople(context, tenantId, identityProvider);
  const found = await context.providerKeys.keysOf(provider);
  const identity = await verifyUpstreamToken(provider, token, found, context);
  return {
    by: 'identity_provider',
    async enter(inside) {
      // Read again: the provider may have been disabled or changed while its keys were fetched.
      const open = await shareVerifiedProvider(inside.db, provider);
      const externalIdentityId = await linkInvited(inside, open, identity, principalId);
      const recorded = await recordFederatedContext(
        inside,
        open,
        { principalId, externalIdentityId },
        identity,
      );
      await projectGroups(inside, open, principalId, identity.groups);
      return {
        externalIdentityId,
        authenticationContextId: recorded.id,
        passkeyId: null,
        // The same as in a token from federation, so that disabling the provider revokes its access tokens.
        clientId: `idp:${open.key}`,
        acr: identity.acr,
        authTime: recorded.auth_time,
      };
    },
  };
}

async function requireProviderOfPeople(
  { db }: Context,
  tenantId: string,
  key: string,
): Promise<OpenProvider> {
  const provider = await requireOpenProvider(db, tenantId, key);
  return provider.principal_kind === 'human' ? provider : fail('identity_provider_not_found');
}

function purposeOf({ id, tenant_id: tenantId }: PresentedInvitationRow) {
  return { purpose: 'accept', about: `${tenantId} ${id}` } as const;
}

/** Runs `work` for a presented link, and counts a failure of the link. */
function limited<T>(context: Context, secret: string, work: () => Promise<T>): Promise<T> {
  const publicPrefix = parseInvitationToken(secret);
  return limitFailures(context, publicPrefix && `invitation:${publicPrefix}`, work);
}

/** The link with this secret, if it can be used. @throws Refusal `invalid_invitation` */
async function requireOpen(context: Context, secret: string): Promise<PresentedInvitationRow> {
  const publicPrefix = parseInvitationToken(secret);
  // If the secret doesn't have the form of a link's, an empty prefix is looked up, so that the response takes as long.
  const row = await context.db.row(findPresentedInvitation(publicPrefix ?? '', providersShownMax));
  const isGenuine = isSecretOf(secret, row?.secret_hash);
  if (row === undefined || !isGenuine) return refuse(context, undefined, 'unknown_link');
  return row.refusal === null ? row : refuse(context, row, row.refusal);
}

/** Refuses a link; the refusal is audited if the link's tenant is known. */
function refuse(context: Context, row: PresentedInvitationRow | undefined, reason: string): never {
  context.counters.presented('invitation', row === undefined ? 'unknown' : 'refused');
  if (row !== undefined) {
    // Not awaited: the response must not take longer than the one to an unknown link.
    context.ledger
      .record({
        audit: auditDraft(context, {
          tenantId: row.tenant_id,
          action: 'invitations.accept',
          resource: ['invitation', row.id],
          outcome: 'denied',
          reason,
          actor: row.principal_id,
        }),
      })
      .catch((error: unknown) => context.log.error({ err: error }, 'a refused link was not audited'));
  }
  return fail('invalid_invitation', {}, { reason });
}
