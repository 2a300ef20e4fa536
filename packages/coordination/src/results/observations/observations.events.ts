import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { FreeObject, Timestamp, Uuid } from '@baton/values/wire';
import { Assertion, ObservedRef } from './observation.ts';

/** The only payload with free text, because the text is the fact. */
export const observationRecorded = defineEvent(
  'observation.recorded',
  'observation',
  z.strictObject({
    kind: z.string(),
    content: z.string(),
    observedAt: Timestamp,
    source: z.string().optional(),
    dedupKey: z.string().optional(),
    externalRef: ObservedRef.optional(),
    assertions: z.array(Assertion).optional(),
    data: FreeObject.optional(),
    taskId: Uuid.optional(),
    runId: Uuid.optional(),
    workspaceId: Uuid.optional(),
    supersedes: Uuid.optional(),
  }),
);
