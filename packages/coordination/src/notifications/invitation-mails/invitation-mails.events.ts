import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The event contains neither the link nor the address. */
export const invitationMailRequested = defineEvent(
  'notification.invitation_mail_requested',
  'invitation_mail',
  z.strictObject({ principalId: Uuid }),
);
