import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { statusCategories } from '../../definitions/task-types/lifecycle.ts';
import { Task } from '../tasks/task.ts';

/** The transitions of a task from its status, with the call for each (docs/reference/relations.md#transitions). */
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

/** A call that would remove a reason, and whether the caller has the permission for it. */
export const Remedy = z
  .strictObject({
    act: z.string(),
    method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']),
    path: z
      .string()
      .describe('Relative to the base path; {id} is a placeholder for a principal of your choice.'),
    permission: z.string(),
    allowed: z.boolean(),
  })
  .meta({ id: 'Remedy' });
export type Remedy = z.infer<typeof Remedy>;

/**
 * One obstacle to a claim, with the details of `:claim`'s refusal as additional fields. For prerequisites that the
 * caller can't see, `blockedOutOfSight` gives only the number.
 */
export const ClaimReason = z
  .looseObject({ code: z.string(), since: Timestamp.nullable(), remedies: z.array(Remedy) })
  .meta({ id: 'ClaimReason' });
export type ClaimReason = z.infer<typeof ClaimReason>;

/** Whether a task can be claimed, with all obstacles: the codes and details with which `:claim` refuses. */
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
        anyVersion: z.boolean().describe('Whether any enabled version is sufficient.'),
      }),
    ),
  })
  .meta({ id: 'TaskRequirements' });
export type TaskRequirements = z.infer<typeof TaskRequirements>;
