import { z } from 'zod';
import { Uuid } from '@baton/kernel/wire';
import { statusCategories } from '../../definitions/task-types/lifecycle.ts';
import { Task } from '../tasks/task.ts';

/** Where a task can go from its status, and by which call (core, section 8.10). */
export const TaskTransitions = Task.pick({
  publicId: true,
  typeId: true,
  typeKey: true,
  typeVersion: true,
  status: true,
  systemStatusCategory: true,
})
  .extend({
    taskId: Uuid,
    targets: z.array(
      z.strictObject({
        status: z.string(),
        displayName: z.string(),
        systemStatusCategory: z.enum(statusCategories),
        route: z.enum(['update', 'complete']),
      }),
    ),
  })
  .meta({ id: 'TaskTransitions' });
export type TaskTransitions = z.infer<typeof TaskTransitions>;

/** Whether a task can be claimed, and everything that stands in the way: the codes and details that `:claim` answers. */
export const TaskClaimability = z
  .strictObject({
    taskId: Uuid,
    publicId: z.string(),
    claimable: z.boolean(),
    reasons: z.array(z.looseObject({ code: z.string() })),
  })
  .meta({ id: 'TaskClaimability' });
export type TaskClaimability = z.infer<typeof TaskClaimability>;

/** The roles, capabilities and skills that an executor of a task must have. */
export const TaskRequirements = z
  .strictObject({
    roles: z.array(z.strictObject({ id: Uuid, slug: z.string() })),
    capabilities: z.array(z.strictObject({ id: Uuid, name: z.string() })),
    skills: z.array(
      z.strictObject({
        id: Uuid,
        name: z.string(),
        version: z.string(),
        anyVersion: z.boolean().describe('Whether every version that is not disabled will do.'),
      }),
    ),
  })
  .meta({ id: 'TaskRequirements' });
export type TaskRequirements = z.infer<typeof TaskRequirements>;
