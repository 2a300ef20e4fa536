import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The journal excludes the checkpoint's data. */
export const runCheckpointed = defineEvent(
  'run.checkpointed',
  'run',
  z.strictObject({ taskId: Uuid, checkpointId: Uuid, seq: z.int(), kind: z.string() }),
);
