import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { parseRuleDocument, refuseFaults } from './faults.ts';

export const everySecondsMin = 60;
export const everySecondsMax = 604_800;
export const triggerKinds = ['observation', 'event', 'schedule'] as const;

/** The agent's key (docs/reference/agents.md#spec). */
export const AgentKey = z
  .string()
  .max(63)
  .regex(/^[a-z0-9][a-z0-9-]*$/);

/** The trigger of a rule (docs/reference/rules.md#trigger). */
export const RuleTrigger = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('observation'),
      type: z
        .string()
        .regex(/^[a-z0-9][a-z0-9._-]{0,127}$/)
        .meta({ description: 'The kind of the observation.' }),
      source: z
        .string()
        .regex(/^[a-z0-9][a-z0-9._:/-]{0,127}$/)
        .optional(),
      agent: AgentKey.optional().meta({ description: 'Only observations of this agent.' }),
      actorId: Uuid.optional().meta({ description: 'Only observations of this principal.' }),
    }),
    z.strictObject({
      kind: z.literal('event'),
      type: z
        .string()
        .max(200)
        .regex(/^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$/)
        .meta({ description: 'The full type of an event, such as `task.completed`.' }),
    }),
    z.strictObject({
      kind: z.literal('schedule'),
      type: z.literal('interval'),
      everySeconds: z.int().min(everySecondsMin).max(everySecondsMax),
    }),
  ])
  .meta({ id: 'RuleTrigger' });
export type RuleTrigger = z.infer<typeof RuleTrigger>;

/**
 * Types that can't be triggers: events that rules write themselves, and events that have a trigger kind of their own.
 */
const refusedTypes = /^(rule\.|work\.|skill\.invocation_|observation\.recorded$)/;

/** @throws Refusal `invalid_rule_trigger`, those of documents */
export function parseTrigger(sent: unknown): RuleTrigger {
  const code = 'invalid_rule_trigger';
  const trigger = parseRuleDocument(RuleTrigger, sent, 'trigger', code);
  if (trigger.kind === 'event' && refusedTypes.test(trigger.type))
    refuseFaults(code, [{ field: 'trigger.type', message: 'events of this type cannot trigger rules' }]);
  return trigger;
}
