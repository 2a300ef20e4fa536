import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';

export const InvitationMailRequest = z
  .strictObject({
    principalId: Uuid.describe(
      'The invited person, to whose e-mail address in the profile the link is sent.',
    ),
    token: z
      .string()
      .max(100)
      .regex(/^iam_inv_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/, 'must be the secret of an invitation')
      .describe('The secret of the link, as identity returned it.'),
  })
  .meta({ id: 'InvitationMailRequest' });
export type InvitationMailRequest = z.output<typeof InvitationMailRequest>;

export const InvitationMail = z
  .strictObject({
    id: Uuid,
    principalId: Uuid,
    email: z.string(),
    expiresAt: Timestamp.describe('It is no longer sent after this time.'),
  })
  .meta({ id: 'InvitationMail' });
export type InvitationMail = z.infer<typeof InvitationMail>;
