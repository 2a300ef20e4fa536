import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

export const artifactTypeCreated = defineEvent(
  'artifact_type.created',
  'artifact_type',
  z.strictObject({
    key: z.string(),
    version: z.int(),
    mediaTypes: z.array(z.string()),
    maxBytes: z.int().nullable(),
    declaresMetadataSchema: z.boolean(),
  }),
);
