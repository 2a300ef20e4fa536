import { z } from 'zod';
import { Uuid } from '@baton/values/wire';

/** An action on a resource. An unknown action is refused with 400; an action of another resource type with 422. */
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

/** The source of the caller's permission, and its restrictions. */
export const ActionExplanation = z
  .strictObject({
    permission: z.string().describe('The permission that allows the action; if none does, one that would.'),
    source: z
      .enum(['binding', 'api_key', 'decision_point'])
      .nullable()
      .describe('Who grants it; null if no one does.'),
    credentialId: Uuid.nullable().describe('The binding or key that authenticated the caller.'),
    byAdmin: z.boolean().describe('Whether only `admin` covers it.'),
    roleId: Uuid.nullable().describe(
      'The role that an approval requires; it makes the caller eligible and grants nothing.',
    ),
    narrowedBy: z
      .array(z.enum(['token_scope', 'decision_point', 'visibility']))
      .max(3)
      .describe(
        '`token_scope`: excluded by the token. `decision_point`: denied there. `visibility`: own workspaces only.',
      ),
    decision: z
      .strictObject({ resource: z.string(), reasonCode: z.string(), decisionId: z.string().nullable() })
      .nullable()
      .describe('The decision of the decision point, if one was requested.'),
  })
  .meta({ id: 'ActionExplanation' });
export type ActionExplanation = z.infer<typeof ActionExplanation>;

/** Whether the action is allowed, and otherwise the error that it would return. */
export const ActionCheckResult = ActionCheck.extend({
  allowed: z.boolean(),
  reason: z
    .strictObject({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) })
    .nullable(),
  explanation: ActionExplanation,
}).meta({ id: 'ActionCheckResult' });
export type ActionCheckResult = z.infer<typeof ActionCheckResult>;
