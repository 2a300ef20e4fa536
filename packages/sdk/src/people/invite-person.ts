import type { BatonClient } from '../baton.ts';
import { BatonError } from '../errors.ts';
import { etagOf } from '../etag.ts';
import type { Principal as CoordinationPrincipal } from '../generated/coordination-types.ts';
import type { Invitation, IssuedInvitation } from '../generated/identity-types.ts';
import { newIdempotencyKey } from '../idempotency-key.ts';
import { InviteFailure } from './invite-failure.ts';
import type { IdentityAdministration } from './person-state.ts';

export interface NewInvite {
  readonly displayName: string;
  readonly email?: string;
  /** The key of an access role. */
  readonly accessRole: string;
  /** 60 seconds to 30 days; 7 days by default. */
  readonly expiresInSeconds?: number;
  /** A few words for the person. */
  readonly message?: string;
}

/** An open invitation of a person who gets the role as soon as they accept. */
export interface Invited {
  readonly invitation: Invitation;
  /** The person's principal in coordination. */
  readonly principalId: string;
  /** The secret of the link, which only this response contains. */
  readonly token: string;
}

/**
 * @returns the idempotency key of a step, which is the same when an attempt is repeated
 */
type KeyOf = (step: 'invitation' | 'principal') => string;

/**
 * Has Baton send the link to the person's e-mail address.
 * @returns whether it will be sent; false if this installation sends no e-mail, or not to this address
 */
export async function mailInvitation(
  baton: BatonClient,
  { principalId, token }: Pick<Invited, 'principalId' | 'token'>,
): Promise<boolean> {
  try {
    await baton.notifications.sendInvitationMail({ principalId, token });
    return true;
  } catch (error) {
    const isRejected = error instanceof BatonError && error.status >= 400 && error.status < 500;
    if (isRejected) return false;
    throw error;
  }
}

/** The maximum page size of identity, which equals the default maximum of a tenant's open invitations. */
const openMax = 500;
const searchedMax = 200;

/**
 * The address that the person opens. The secret is in its fragment, which browsers don't send. Browsers create no
 * passkeys at an IP address, so the address of this machine becomes `localhost`.
 */
export function invitationLink(consoleUrl: string, token: string): string {
  const address = consoleUrl
    .replace(/\/+$/, '')
    .replace(/^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/, '$1localhost');
  return `${address}/invite#${token}`;
}

/**
 * Invites a person to both services: identity creates the person with a one-time link, and coordination a principal
 * with the role, using the inviter's own rights. The link is returned only when all of it exists. Repeating the call
 * after an interruption completes the invitation and makes a new link; it never invites the person a second time.
 * @throws InviteFailure; BatonError if identity rejects the invitation, and nothing was created
 */
export async function invitePerson(
  baton: BatonClient,
  administration: IdentityAdministration,
  invite: NewInvite,
  keyOf: KeyOf,
): Promise<Invited> {
  const invitedBy = await requireGrantable(baton, invite.accessRole);
  const { identity, tenantId } = administration;
  const open = await findOpenInvitation(administration, invite);
  if (open !== undefined && (await isAdmitted(baton, open.principalId)))
    throw new InviteFailure(
      'already_invited',
      `${open.displayName} is invited already, until ${open.expiresAt}. Renew that invitation for a new link, or revoke it.`,
      { invitationId: open.id },
    );
  const { displayName, email, accessRole: role, expiresInSeconds, message } = invite;
  const link = {
    role,
    invitedBy,
    ...(email !== undefined && { email }),
    ...(message !== undefined && { message }),
    ...(expiresInSeconds !== undefined && { expiresInSeconds }),
  };
  const issued: IssuedInvitation =
    open === undefined
      ? await identity.invitations.create(
          tenantId,
          { displayName, ...link },
          { idempotencyKey: keyOf('invitation') },
        )
      : await identity.invitations.create(tenantId, { principalId: open.principalId, ...link });
  return admit(baton, administration, await withToken(administration, issued, link), keyOf);
}

/**
 * Makes a new link for the person of an invitation who hasn't accepted, and completes their access. The former link
 * stops working.
 * @throws InviteFailure; BatonError, for example identity's `principal_not_active` if the person has accepted
 */
export async function renewInvitation(
  baton: BatonClient,
  administration: IdentityAdministration,
  former: Invitation,
  { expiresInSeconds }: Pick<NewInvite, 'expiresInSeconds'> = {},
): Promise<Invited> {
  const { identity, tenantId } = administration;
  const { principalId, email, message, role } = former;
  const invitedBy = await requireGrantable(baton, role ?? 'viewer');
  const link = {
    role: role ?? 'viewer',
    invitedBy,
    email,
    message,
    ...(expiresInSeconds !== undefined && { expiresInSeconds }),
  };
  const issued = await identity.invitations.create(tenantId, { principalId, ...link });
  if (await isAdmitted(baton, principalId))
    return { ...issued, principalId: (await findAdmitted(baton, principalId)) ?? '' };
  return admit(baton, administration, issued, newIdempotencyKey);
}

/**
 * Before anything is created, checks what coordination would otherwise reject later.
 * @returns the inviter's name @throws InviteFailure `not_allowed`
 */
async function requireGrantable(baton: BatonClient, accessRole: string): Promise<string> {
  const [role, { permissions, principal }] = await Promise.all([
    baton.accessRoles.get(accessRole),
    baton.harness.getContext(),
  ]);
  const mine = new Set(permissions);
  const missing = ['principals.write', ...role.permissions].filter((name) => !mine.has(name));
  if (missing.length === 0 || mine.has('admin')) return principal.displayName;
  throw new InviteFailure(
    'not_allowed',
    `You can't invite somebody as ${role.name}, because you don't have ${missing.join(', ')}. Choose a role that allows no more than yours, or have an administrator invite them.`,
  );
}

/** The open invitation with the same e-mail address; without an address, with the same name. */
async function findOpenInvitation(
  { identity, tenantId }: IdentityAdministration,
  { displayName, email }: NewInvite,
): Promise<Invitation | undefined> {
  const { items } = await identity.invitations.list(tenantId, { status: 'open', limit: openMax });
  const lower = (text: string | null | undefined) => text?.trim().toLowerCase();
  return items.find(
    (one) =>
      one.kind === 'invitation' &&
      (email === undefined || one.email === null
        ? lower(one.displayName) === lower(displayName)
        : lower(one.email) === lower(email)),
  );
}

async function findAdmitted(baton: BatonClient, iamPrincipalId: string): Promise<string | undefined> {
  const { items } = await baton.people.list({ iamPrincipalIds: iamPrincipalId, limit: 1 });
  return items.find(({ identities }) => identities.some((one) => one.iamPrincipalId === iamPrincipalId))?.id;
}

const isAdmitted = async (baton: BatonClient, iamPrincipalId: string): Promise<boolean> =>
  (await findAdmitted(baton, iamPrincipalId)) !== undefined;

/** The response to a repeated request lacks the secret, so another link replaces the one whose secret was lost. */
async function withToken(
  { identity, tenantId }: IdentityAdministration,
  issued: IssuedInvitation,
  link: Omit<NewInvite, 'displayName' | 'accessRole'>,
): Promise<IssuedInvitation> {
  if ((issued.token as string | null) !== null) return issued;
  return identity.invitations.create(tenantId, { principalId: issued.invitation.principalId, ...link });
}

/** Creates the principal with its role. Everything is undone if coordination rejects a step. */
async function admit(
  baton: BatonClient,
  administration: IdentityAdministration,
  { invitation, token }: IssuedInvitation,
  keyOf: KeyOf,
): Promise<Invited> {
  let principalId: string | undefined;
  try {
    principalId = (await createPerson(baton, invitation, keyOf)).id;
    await baton.principals.createIamBinding(principalId, {
      issuer: administration.issuer,
      iamTenantId: administration.tenantId,
      iamPrincipalId: invitation.principalId,
      accessRole: invitation.role ?? 'viewer',
    });
    return { invitation, principalId, token };
  } catch (cause) {
    throw await undo(baton, administration, { invitation, principalId, cause });
  }
}

/** Finds the person of an earlier attempt by the identity in the principal's metadata. */
async function createPerson(
  baton: BatonClient,
  { principalId: iamPrincipalId, displayName, email }: Invitation,
  keyOf: KeyOf,
): Promise<CoordinationPrincipal> {
  const { items } = await baton.principals.list({
    kind: 'human',
    q: firstWords(displayName),
    limit: searchedMax,
  });
  const found = items.find(
    ({ metadata, status }) => metadata['invitedAs'] === iamPrincipalId && status === 'active',
  );
  const person =
    found ??
    (await baton.principals.create(
      { kind: 'human', displayName, metadata: { invitedAs: iamPrincipalId } },
      { idempotencyKey: keyOf('principal') },
    ));
  if (email === null || person.profile.email === email) return person;
  const { jobTitle, phone, note } = person.profile;
  return baton.principals.update(
    person.id,
    { profile: { jobTitle, phone, note, email } },
    { ifMatch: etagOf(await baton.principals.get(person.id)) },
  );
}

/** A search has at most 200 characters and 10 words. */
const firstWords = (name: string): string => name.split(/\s+/).slice(0, 10).join(' ').slice(0, 200);

interface Undone {
  readonly invitation: Invitation;
  readonly principalId: string | undefined;
  readonly cause: unknown;
}

/**
 * Nobody gets a link without access. Only a rejection is undone, because a call whose response was lost may have
 * succeeded.
 */
async function undo(
  baton: BatonClient,
  { identity, tenantId }: IdentityAdministration,
  { invitation, principalId, cause }: Undone,
): Promise<InviteFailure> {
  const { id: invitationId, displayName } = invitation;
  const why = cause instanceof Error ? cause.message : String(cause);
  const unfinished = new InviteFailure(
    'unfinished',
    `${displayName} is not invited completely: ${why} Nobody has the link. Invite ${displayName} again to complete it, or revoke the open invitation.`,
    { invitationId, cause },
  );
  const isRejected = cause instanceof BatonError && cause.status >= 400 && cause.status < 500;
  if (!isRejected || cause.status === 429) return unfinished;
  try {
    await identity.invitations.revoke(tenantId, invitationId, { reason: 'not_completed' });
    if (principalId !== undefined)
      await baton.principals.disable(principalId, { reason: 'invitation_not_completed' });
  } catch {
    return unfinished;
  }
  return new InviteFailure(
    'undone',
    `${displayName} was not invited, and nothing of the invitation is left open: ${why}`,
    { cause },
  );
}
