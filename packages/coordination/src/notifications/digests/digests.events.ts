import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The delivery of this event sends the digest. */
export const digestDue = defineEvent(
  'notification.digest_due',
  'principal',
  z.strictObject({ principalId: Uuid, items: z.int() }),
);
