import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { principalKinds } from '../../access/principals/principal.ts';
import { Participant } from '../../organisation/assignments/participant.ts';

/** Who may be given tasks of a type in a workspace, and why (core, section 7.2). */
export const TaskTypeExecutor = z
  .strictObject({
    principalId: Uuid,
    kind: z.enum(principalKinds),
    displayName: z.string(),
    roles: Participant.shape.roles,
    reason: z.enum(['any', 'agent_task_types', 'agent_any']).meta({
      description:
        '`agent_task_types`, `agent_any`: a running agent of the registry whose spec covers the workspace and names this type, or takes every type. `any`: any other member of the workspace.',
    }),
  })
  .meta({ id: 'TaskTypeExecutor' });
export type TaskTypeExecutor = z.infer<typeof TaskTypeExecutor>;
