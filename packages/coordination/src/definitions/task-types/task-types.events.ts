import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Execution } from './type-documents.ts';

/** Contains only whether documents are present, and how many parts they have. */
export const taskTypeCreated = defineEvent(
  'task_type.created',
  'task_type',
  z.strictObject({
    key: z.string(),
    version: z.int(),
    displayName: z.string(),
    initialStatus: z.string(),
    completionStatus: z.string(),
    execution: Execution.nullable(),
    declaresApprovalOutcomes: z.boolean(),
    declaresContextProfile: z.boolean(),
    declaresInstructions: z.boolean(),
    declaresCompletionWork: z.boolean(),
    declaresArtifactSchema: z.boolean(),
    inputs: z.int(),
    outputs: z.int(),
  }),
  2,
);

export const taskTypeDeprecated = defineEvent(
  'task_type.deprecated',
  'task_type',
  z.strictObject({ key: z.string(), version: z.int() }),
);
