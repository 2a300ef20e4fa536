import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { cancellationPolicies } from './child-handle.ts';

/**
 * The child's title and description are in the `task.created` event of its task. Only the sizes of the grant are
 * included.
 */
export const childLaunched = defineEvent(
  'run.child.launched',
  'run',
  z.strictObject({
    taskId: Uuid,
    childHandleId: Uuid,
    childTaskId: Uuid,
    childTaskPublicId: z.string(),
    correlationId: z.string(),
    cancellationPolicy: z.enum(cancellationPolicies),
    depth: z.int(),
    grantSizes: z.strictObject({ permissions: z.int(), capabilities: z.int(), skills: z.int() }),
  }),
);
