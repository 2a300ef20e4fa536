import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The session's access tokens are revoked, too. A session that expires has no event. */
export const browserSessionRevoked = defineEvent(
  'browser_session.revoked',
  'browser_session',
  z.strictObject({
    browserSessionId: Uuid,
    principalId: Uuid,
    publicPrefix: z.string(),
    reason: z.string(),
  }),
);
