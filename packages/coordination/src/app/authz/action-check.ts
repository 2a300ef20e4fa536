import { z } from 'zod';
import { Uuid } from '@baton/values/wire';

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

/** Where the caller's permission comes from, and what takes from it. */
export const ActionExplanation = z
  .strictObject({
    permission: z
      .string()
      .describe('The one that allows it; else the one that is wanting, or that would do.'),
    source: z
      .enum(['binding', 'api_key', 'decision_point'])
      .nullable()
      .describe('Who grants it; null when nobody does.'),
    credentialId: Uuid.nullable().describe('The binding or the key that the caller came in by.'),
    byAdmin: z.boolean().describe('Whether it is covered by `admin` only.'),
    roleId: Uuid.nullable().describe(
      'The role that an approval asks for; it makes eligible, and grants nothing.',
    ),
    narrowedBy: z
      .array(z.enum(['token_scope', 'decision_point', 'visibility']))
      .max(3)
      .describe(
        '`token_scope`: the token leaves it out. `decision_point`: it was denied there. `visibility`: own workspaces only.',
      ),
    decision: z
      .strictObject({ resource: z.string(), reasonCode: z.string(), decisionId: z.string().nullable() })
      .nullable()
      .describe('What the decision point said, where it was asked.'),
  })
  .meta({ id: 'ActionExplanation' });
export type ActionExplanation = z.infer<typeof ActionExplanation>;

/** Whether the caller may do it, and the refusal that the action itself would answer. */
export const ActionCheckResult = ActionCheck.extend({
  allowed: z.boolean(),
  reason: z
    .strictObject({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) })
    .nullable(),
  explanation: ActionExplanation,
}).meta({ id: 'ActionCheckResult' });
export type ActionCheckResult = z.infer<typeof ActionCheckResult>;
