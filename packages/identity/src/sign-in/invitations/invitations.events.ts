import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const invitation = { invitationId: Uuid, principalId: Uuid, kind: z.enum(['invitation', 'recovery']) };

/** The event contains no names, e-mail or message, which are personal. A link that expires has no event. */
export const invitationCreated = defineEvent(
  'invitation.created',
  'invitation',
  z.strictObject({ ...invitation, role: z.string().nullable(), expiresInSeconds: z.int() }),
);

export const invitationAccepted = defineEvent(
  'invitation.accepted',
  'invitation',
  z.strictObject({
    ...invitation,
    role: z.string().nullable(),
    by: z.enum(['passkey', 'identity_provider']),
    externalIdentityId: Uuid,
  }),
);

export const invitationRevoked = defineEvent(
  'invitation.revoked',
  'invitation',
  z.strictObject({ ...invitation, reason: z.string() }),
);
