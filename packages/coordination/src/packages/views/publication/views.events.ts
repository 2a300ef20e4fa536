import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

/** `previousVersion` is null for the first version; publishing a retired view makes it active again. */
export const viewPublished = defineEvent(
  'view.published',
  'view',
  z.strictObject({
    key: z.string(),
    version: z.int(),
    specHash: z.string(),
    previousVersion: z.int().nullable(),
  }),
);

export const viewRetired = defineEvent(
  'view.retired',
  'view',
  z.strictObject({ key: z.string(), version: z.int() }),
);
