import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import { Task } from '../../work/tasks/task.ts';
import { Checkpoint } from '../checkpoints/checkpoint.ts';
import { Run } from '../runs/run.ts';

export const SuspensionRequest = z
  .strictObject({
    reason: z.string().min(1).max(200).default('waiting_approval'),
    waitingForApprovalId: Uuid.nullish(),
  })
  .meta({ id: 'RunSuspension' });
export type SuspensionRequest = z.output<typeof SuspensionRequest>;

/** A suspended run, and its task, which is unclaimed again. */
export const SuspendedRun = z.strictObject({ run: Run, task: Task }).meta({ id: 'SuspendedRun' });
export type SuspendedRun = z.infer<typeof SuspendedRun>;

export const HandoffRequest = z
  .strictObject({
    reason: z.string().min(1).max(200).default('human_harness_handoff'),
    /** Validated by the handler rather than with the body, so that 422 `invalid_handoff` can describe the error. */
    checkpoint: z.unknown().meta({
      type: 'object',
      'x-maxBytes': documentBytesMax,
      description:
        '`{kind = "handoff", data: {summary, nextSteps, evidenceRefs}}`: a summary of 1 to 10,000 characters, ' +
        'and two lists of at most 100 texts of 1 to 2,000 characters.',
    }),
  })
  .meta({ id: 'RunHandoff' });
export type HandoffRequest = z.output<typeof HandoffRequest>;

const texts = z.array(z.string().min(1).max(2000)).max(100).default([]);

/** The checkpoint for the next executor. Additional fields are stored, within the limits of a document. */
export const HandoffCheckpoint = z.strictObject({
  kind: z.literal('handoff').default('handoff'),
  data: z.looseObject({
    summary: z
      .string()
      .max(10_000)
      .refine((text) => text.trim() !== ''),
    nextSteps: texts,
    evidenceRefs: texts,
  }),
});

/** Everything that the next executor needs to continue. */
export const HandedOffRun = z
  .strictObject({
    run: Run,
    task: Task,
    checkpoint: Checkpoint,
    eventCursor: z.string(),
    resume: z.strictObject({
      taskId: Uuid,
      previousRunId: Uuid,
      nextAction: z.literal('claim_and_start_new_run'),
    }),
  })
  .meta({ id: 'HandedOffRun' });
export type HandedOffRun = z.infer<typeof HandedOffRun>;
