import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { contentStates } from './artifact.ts';

export const artifactCreated = defineEvent(
  'artifact.created',
  'artifact',
  z.strictObject({
    type: z.string(),
    name: z.string(),
    taskId: Uuid.nullable(),
    runId: Uuid.nullable(),
    uri: z.string().nullable(),
    supersedesArtifactId: Uuid.nullable(),
    sizeBytes: z.int().nullable(),
    mediaType: z.string().nullable(),
    sha256: z.string().nullable(),
    contentState: z.enum(contentStates),
    typeVersion: z.int().nullable(),
    verificationId: Uuid.optional(),
    skillInvocationId: Uuid.optional(),
  }),
  2,
);
