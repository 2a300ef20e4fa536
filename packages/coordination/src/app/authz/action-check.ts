import { z } from 'zod';

/** An action on a resource. One that no resource has is refused with 400; one of another resource type, with 422. */
export const ActionCheck = z
  .strictObject({
    action: z.enum([
      'approve',
      'reject',
      'suspend',
      'resume',
      'cancel',
      'request-cancel',
      'enable',
      'disable',
      'update-state',
    ]),
    resourceType: z.enum(['approval', 'process_instance', 'run', 'rule', 'agent', 'principal']),
    resourceId: z.string().min(1).max(200),
  })
  .meta({ id: 'ActionCheck' });
export type ActionCheck = z.output<typeof ActionCheck>;

/** Whether the caller may do it, and the refusal that the action itself would answer. */
export const ActionCheckResult = ActionCheck.extend({
  allowed: z.boolean(),
  reason: z
    .strictObject({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) })
    .nullable(),
}).meta({ id: 'ActionCheckResult' });
export type ActionCheckResult = z.infer<typeof ActionCheckResult>;
