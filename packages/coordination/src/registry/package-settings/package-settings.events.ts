import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The values are stored in the versions, not in the event; `changedPaths` are JSON pointers, at most 100. */
export const packageSettingsChanged = defineEvent(
  'package.settings_changed',
  'package',
  z.strictObject({
    package: z.string(),
    version: z.int(),
    previousVersion: z.int(),
    schemaRevision: z.int(),
    changedPaths: z.array(z.string()),
    actorId: Uuid,
  }),
);
