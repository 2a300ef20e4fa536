import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const browserSessionStarted = defineEvent(
  'browser_session.started',
  'browser_session',
  z.strictObject({
    browserSessionId: Uuid,
    principalId: Uuid,
    publicPrefix: z.string(),
    clientId: z.string(),
  }),
);
