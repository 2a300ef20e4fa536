import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Modes } from '../kinds.ts';

/**
 * The event doesn't contain the address. `kinds` contains only the stored choices; `via` is `link` if the person
 * unsubscribed through a link.
 */
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
