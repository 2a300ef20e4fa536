import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { characters, Name } from '../../service/fields.ts';
import { pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';
import { FederatedSignInRequest } from '../federation/sign-in.ts';
import { CreatedPasskey } from '../passkeys/passkey.ts';

type InvitationColumns = RowOf<Tables['invitations']>;

const InvitationKind = z.enum(['invitation', 'recovery']);
const InvitationStatus = z.enum(['open', 'accepted', 'revoked', 'expired']);

/** A link as lists show it: everything but its secret. */
export type InvitationRow = Pick<
  InvitationColumns,
  | 'id'
  | 'tenant_id'
  | 'principal_id'
  | 'kind'
  | 'email'
  | 'role'
  | 'invited_by'
  | 'message'
  | 'replaces'
  | 'public_prefix'
  | 'created_at'
  | 'expires_at'
  | 'accepted_at'
  | 'accepted_by'
  | 'revoked_at'
  | 'revoke_reason'
> & { display_name: string; status: z.infer<typeof InvitationStatus> };

export const Invitation = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    principalId: Uuid,
    kind: InvitationKind,
    displayName: z.string().describe('Of the person.'),
    email: z.string().nullable(),
    role: z.string().nullable().describe('As the inviter named it; identity gives no rights for it.'),
    invitedBy: z.string(),
    message: z.string(),
    replacesCredentials: z.boolean(),
    publicPrefix: z.string(),
    status: InvitationStatus,
    createdAt: Timestamp,
    expiresAt: Timestamp,
    acceptedAt: Timestamp.nullable(),
    acceptedBy: z.enum(['passkey', 'identity_provider']).nullable(),
    revokedAt: Timestamp.nullable(),
    revokeReason: z.string(),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.infer<typeof Invitation>;

export const invitationOf = wireMapper<InvitationRow>()(Invitation, {
  replacesCredentials: ({ replaces }) => replaces,
});

export const invitationPages = pagesByCreation('invitations', Invitation);

export const invitationQuery = {
  ...invitationPages.query,
  principalId: Uuid.optional(),
  status: InvitationStatus.optional(),
};
export type InvitationQuery = z.infer<z.ZodObject<typeof invitationQuery>>;

const daySeconds = 86_400;

const link = {
  invitedBy: characters(0, 200).default('').describe('Who invites, as the person will read it.'),
  message: characters(0, 1000).default('').describe('A few words for the person.'),
  expiresInSeconds: z
    .int()
    .min(60)
    .max(30 * daySeconds)
    .default(7 * daySeconds),
};

export const NewInvitation = z
  .strictObject({
    displayName: Name.nullish().describe('Of a new person; required without `principalId`.'),
    email: characters(3, 320).nullish().describe('Where the inviter sends the link. Identity sends nothing.'),
    role: characters(1, 120).nullish().describe('Passed on to the service that gives the rights.'),
    principalId: Uuid.nullish().describe('A person of the tenant, instead of a new one.'),
    ...link,
  })
  .refine(({ displayName, principalId }) => (displayName == null) !== (principalId == null), {
    path: ['displayName'],
    message: 'exactly one of displayName and principalId is required',
  })
  .meta({ id: 'NewInvitation' });
export type NewInvitation = z.infer<typeof NewInvitation>;

export const NewRecoveryLink = z
  .strictObject({
    ...link,
    replaceCredentials: z
      .boolean()
      .default(true)
      .describe(
        'Accepting the link removes the other passkeys of the person and ends their browser sessions: somebody else may have the lost ones.',
      ),
  })
  .meta({ id: 'NewRecoveryLink' });
export type NewRecoveryLink = z.infer<typeof NewRecoveryLink>;

/** A new link, with its secret, which only this response contains. */
export const IssuedInvitation = z
  .strictObject({
    invitation: Invitation,
    token: z.string().describe('The secret of the link: in this response only.'),
  })
  .meta({ id: 'IssuedInvitation' });
export type IssuedInvitation = z.infer<typeof IssuedInvitation>;

export const InvitationToken = z.string().min(1).max(500).describe('The secret of the link: `iam_inv_…`.');

export const InvitationRequest = z.strictObject({ token: InvitationToken }).meta({ id: 'InvitationRequest' });

/** What is shown to the person who opens the link. */
export const OpenInvitation = z
  .strictObject({
    kind: InvitationKind,
    tenantName: z.string(),
    displayName: z.string(),
    invitedBy: z.string(),
    message: z.string(),
    role: z.string().nullable(),
    replacesCredentials: z.boolean(),
    expiresAt: Timestamp,
    identityProviders: z.array(z.string()).describe('Keys of the providers by which it can be accepted.'),
  })
  .meta({ id: 'OpenInvitation' });
export type OpenInvitation = z.infer<typeof OpenInvitation>;

export const InvitationAcceptance = z
  .strictObject({
    token: InvitationToken,
    passkey: CreatedPasskey.optional(),
    federation: FederatedSignInRequest.optional(),
  })
  .refine(({ passkey, federation }) => (passkey === undefined) !== (federation === undefined), {
    path: ['passkey'],
    message: 'exactly one of passkey and federation is required',
  })
  .meta({ id: 'InvitationAcceptance' });
export type InvitationAcceptance = z.infer<typeof InvitationAcceptance>;
