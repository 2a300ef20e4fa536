import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** Written on the task of the path, which may be either end. */
export const taskRelationRemoved = defineEvent(
  'task.relation_removed',
  'task',
  z.strictObject({ relationId: Uuid, fromTaskId: Uuid, toTaskId: Uuid, type: z.string() }),
);
