import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
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

/** A call that would remove a reason, and whether the caller holds what it wants. */
export const Remedy = z
  .strictObject({
    act: z.string(),
    method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']),
    path: z.string().describe('Below the base path; {id} stands for a principal of your choice.'),
    permission: z.string(),
    allowed: z.boolean(),
  })
  .meta({ id: 'Remedy' });
export type Remedy = z.infer<typeof Remedy>;

/**
 * One thing that stands in the way of a claim; besides these fields the details that `:claim` answers with the code. Of
 * prerequisites that the caller doesn't see, `blockedOutOfSight` says only how many there are.
 */
export const ClaimReason = z
  .looseObject({ code: z.string(), since: Timestamp.nullable(), remedies: z.array(Remedy) })
  .meta({ id: 'ClaimReason' });
export type ClaimReason = z.infer<typeof ClaimReason>;

/** Whether a task can be claimed, and everything that stands in the way: the codes and details that `:claim` answers. */
export const TaskClaimability = z
  .strictObject({
    taskId: Uuid,
    publicId: z.string(),
    claimable: z.boolean(),
    reasons: z.array(ClaimReason),
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
