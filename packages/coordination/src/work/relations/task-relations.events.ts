import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** Emitted on the task in the path, which may be at either end of the relation. */
export const taskRelationRemoved = defineEvent(
  'task.relation_removed',
  'task',
  z.strictObject({ relationId: Uuid, fromTaskId: Uuid, toTaskId: Uuid, type: z.string() }),
);
