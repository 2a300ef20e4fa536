import { endpoint } from '../context.ts';
import { InvitationMail, InvitationMailRequest } from './invitation-mail.ts';
import { invitationMailRequested } from './invitation-mails.events.ts';
import { requestInvitationMail } from './invitation-mails.ts';

export const invitationMailsApi = [
  endpoint({
    id: 'sendInvitationMail',
    method: 'POST',
    path: '/notifications/invitation-mails',
    summary: 'Send the link of an invitation by e-mail to the invited person.',
    description:
      'The worker sends it within a day or not at all; until then the link is stored encrypted. The link leads to the console at CP_PUBLIC_URL. A newer link replaces one that has not been sent yet.',
    permission: 'principals.write',
    body: InvitationMailRequest,
    unprinted: ['token'],
    returns: { 202: InvitationMail },
    errors: [
      'mail_not_enabled',
      'not_found',
      'principal_not_active',
      'invalid_email_address',
      'too_many_invitation_mails',
    ],
    emits: [invitationMailRequested],
    example: {
      principalId: '0190b2c4-0000-7000-8000-000000000001',
      token: `iam_inv_0123456789ab_${'x'.repeat(43)}`,
    },
    handle: ({ body }, context) => requestInvitationMail(context, body),
  }),
];
