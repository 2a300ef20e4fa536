import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

/** `previousVersion` is null for the first version of a key. */
export const calendarPublished = defineEvent(
  'calendar.published',
  'calendar',
  z.strictObject({
    key: z.string(),
    version: z.int(),
    calendarHash: z.string(),
    previousVersion: z.int().nullable(),
    years: z.array(z.int()),
    provisionalYears: z.array(z.int()),
  }),
);

export const calendarRetired = defineEvent(
  'calendar.retired',
  'calendar',
  z.strictObject({ key: z.string(), latestVersion: z.int(), reason: z.string() }),
);

export const calendarRestored = defineEvent(
  'calendar.restored',
  'calendar',
  z.strictObject({ key: z.string(), latestVersion: z.int() }),
);
