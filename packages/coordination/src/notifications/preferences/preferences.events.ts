import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Modes } from '../kinds.ts';

/** Without the address. `kinds` has the stored choices only; `via` is `link` for an unsubscription by a link. */
export const preferencesUpdated = defineEvent(
  'notification.preferences_updated',
  'principal',
  z.strictObject({
    principalId: Uuid,
    kinds: z.record(z.string(), Modes.partial()),
    digestIntervalSeconds: z.int(),
    hasOwnEmail: z.boolean(),
    via: z.enum(['api', 'link']),
  }),
);
