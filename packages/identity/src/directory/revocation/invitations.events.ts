import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The members of every event of an invitation or a recovery link. */
export const invitationPayload = {
  invitationId: Uuid,
  principalId: Uuid,
  kind: z.enum(['invitation', 'recovery']),
};

/** A link that expires has no event. */
export const invitationRevoked = defineEvent(
  'invitation.revoked',
  'invitation',
  z.strictObject({ ...invitationPayload, reason: z.string() }),
);
