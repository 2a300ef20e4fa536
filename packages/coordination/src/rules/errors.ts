import { conflict, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../registry/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_rule: invalid(
    "The tenant has reached the maximum number of enabled rules, or the rule's `identity` is malformed.",
    'Disable a rule that is no longer needed, or correct `details.field`.',
  ),
  invalid_rule_trigger: invalid(
    'The trigger of the rule is malformed, or specifies an event type that cannot trigger rules.',
    'Correct `details.field`; docs/events.md shows which events trigger rules.',
    {
      refused:
        'POST /rules:validate {"key":"triage","trigger":{"kind":"webhook"},"action":{"kind":"ensure_work","taskType":"task","dedupKeyTemplate":"build","fields":{"title":"Repair the build"}}}',
      right:
        'POST /rules:validate {"key":"triage","trigger":{"kind":"observation","type":"build"},"action":{"kind":"ensure_work","taskType":"task","dedupKeyTemplate":"build","fields":{"title":"Repair the build"}}}',
    },
  ),
  invalid_rule_condition: invalid(
    'The condition of the rule is malformed or too large.',
    'Correct the field in `details`, and split a large condition into several rules.',
  ),
  invalid_rule_interpretation: invalid(
    'The interpretation of the rule is malformed, or missing although the rule uses its output.',
    'Specify a skill without external effects, and its inputs, or remove the references to `$.skill`.',
  ),
  invalid_rule_action: invalid(
    'The action of the rule is malformed.',
    'Correct the field in `details`; `POST /rules:validate` checks a rule without storing it.',
  ),
  unknown_role: invalid(
    'The rule refers to a role that does not exist.',
    'Create the role `details.role`, or use one of `GET /roles`.',
  ),
  unknown_skill: invalid(
    'The rule refers to a skill that does not exist or cannot be called.',
    'Register or enable `details.skill`; `details.reason` explains why it cannot be called.',
  ),
  rule_skill_side_effects: invalid(
    'A skill with external effects cannot interpret events for a rule.',
    'Use a skill whose `sideEffects` are `none` or `external_read`.',
  ),
  rule_key_taken: conflict(
    'Another rule has this key.',
    'Change the rule `details.ruleId`, or choose another key.',
  ),
  rule_archived: conflict('The rule is archived.', 'Create a new rule under another key.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
