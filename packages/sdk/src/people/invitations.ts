import type { BatonClient } from '../baton.ts';
import type { CallOptions } from '../call.ts';
import type { Person } from '../generated/coordination-types.ts';
import type { Invitation } from '../generated/identity-types.ts';
import { InviteFailure } from './invite-failure.ts';
import type { IdentityAdministration } from './person-state.ts';

/** A link with the person's principal in coordination. */
export type ListedInvitation = Invitation & {
  /** Null if the invitation was interrupted: the person has no access yet, and inviting them again completes it. */
  readonly coordinationPrincipalId: string | null;
  readonly accessRole: string | null;
};

const pageMax = 100;

/** One page of invitations and recovery links, in the order of their creation. */
export async function listInvitations(
  baton: BatonClient,
  { identity, tenantId }: IdentityAdministration,
  query: { readonly status?: Invitation['status']; readonly cursor?: string },
  options: CallOptions = {},
): Promise<{ items: readonly ListedInvitation[]; nextCursor: string | null }> {
  const { status, cursor } = query;
  const { items, next_after: nextCursor } = await identity.invitations.list(
    tenantId,
    {
      limit: pageMax,
      ...(status !== undefined && { status }),
      ...(cursor !== undefined && { after: cursor }),
    },
    options,
  );
  const ids = [...new Set(items.map(({ principalId }) => principalId))];
  const people = ids.length === 0 ? [] : await readPeople(baton, ids, options);
  return {
    items: items.map((invitation) => {
      const person = people.find((one) => isBoundTo(one, invitation.principalId));
      return {
        ...invitation,
        coordinationPrincipalId: person?.id ?? null,
        accessRole: person?.accessRole ?? null,
      };
    }),
    nextCursor,
  };
}

/**
 * Revokes a link. Somebody who never accepted their invitation also loses their pending access.
 * @returns the principal that was disabled with it
 * @throws BatonError, for example identity's `invitation_accepted`; InviteFailure `unfinished` if the link is revoked,
 * but the access could not be ended
 */
export async function revokeInvitation(
  baton: BatonClient,
  { identity, tenantId }: IdentityAdministration,
  { id, kind, principalId, displayName }: Invitation,
  reason?: string,
): Promise<{ readonly disabledPrincipalId: string | null }> {
  await identity.invitations.revoke(tenantId, id, reason === undefined ? {} : { reason });
  if (kind !== 'invitation') return { disabledPrincipalId: null };
  try {
    const { status } = await identity.principals.get(tenantId, principalId);
    const people = await readPeople(baton, [principalId]);
    const person = people.find((one) => isBoundTo(one, principalId));
    if (status !== 'paused' || person === undefined || person.status !== 'active')
      return { disabledPrincipalId: null };
    await baton.principals.disable(person.id, { reason: 'invitation_revoked' });
    return { disabledPrincipalId: person.id };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InviteFailure(
      'unfinished',
      `The link is revoked, but ${displayName} still has a role here: ${why} Disable them as well.`,
      { invitationId: id, cause },
    );
  }
}

async function readPeople(
  baton: BatonClient,
  iamPrincipalIds: readonly string[],
  options: CallOptions = {},
): Promise<readonly Person[]> {
  const ids = iamPrincipalIds.join(',');
  return (await baton.people.list({ iamPrincipalIds: ids, limit: pageMax }, options)).items;
}

const isBoundTo = ({ identities }: Person, iamPrincipalId: string): boolean =>
  identities.some((one) => one.iamPrincipalId === iamPrincipalId);
