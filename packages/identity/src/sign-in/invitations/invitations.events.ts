import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { invitationPayload } from '../../directory/revocation/invitations.events.ts';

/** The event contains no names, e-mail or message, which are personal. */
export const invitationCreated = defineEvent(
  'invitation.created',
  'invitation',
  z.strictObject({ ...invitationPayload, role: z.string().nullable(), expiresInSeconds: z.int() }),
);

export const invitationAccepted = defineEvent(
  'invitation.accepted',
  'invitation',
  z.strictObject({
    ...invitationPayload,
    role: z.string().nullable(),
    by: z.enum(['passkey', 'identity_provider']),
    externalIdentityId: Uuid,
  }),
);
