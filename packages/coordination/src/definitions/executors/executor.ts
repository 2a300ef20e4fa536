import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { principalKinds } from '../../access/principals/principal.ts';
import { Participant } from '../../organisation/assignments/participant.ts';

/**
 * A principal that can be assigned tasks of a type in a workspace, with the reason
 * (docs/reference/definitions.md#executors).
 */
export const TaskTypeExecutor = z
  .strictObject({
    principalId: Uuid,
    kind: z.enum(principalKinds),
    displayName: z.string(),
    roles: Participant.shape.roles,
    reason: z.enum(['any', 'agent_task_types', 'agent_any']).meta({
      description:
        '`agent_task_types`, `agent_any`: a running registered agent whose spec covers the workspace and lists this ' +
        'type, or accepts every type. `any`: any other member of the workspace.',
    }),
  })
  .meta({ id: 'TaskTypeExecutor' });
export type TaskTypeExecutor = z.infer<typeof TaskTypeExecutor>;
