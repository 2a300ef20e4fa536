import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const artifactContentRead = defineEvent(
  'artifact.content_read',
  'artifact',
  z.strictObject({
    artifactId: Uuid,
    taskId: Uuid.nullable(),
    forTaskId: Uuid.nullable(),
    runId: Uuid.nullable(),
    sha256: z.string(),
    sizeBytes: z.int(),
  }),
);

/**
 * `objectDeleted` is false if another artifact, or an upload, still has the same bytes.
 */
export const artifactContentPurged = defineEvent(
  'artifact.content_purged',
  'artifact',
  z.strictObject({
    artifactId: Uuid,
    taskId: Uuid.nullable(),
    sha256: z.string(),
    sizeBytes: z.int(),
    reason: z.string(),
    objectDeleted: z.boolean(),
  }),
);
