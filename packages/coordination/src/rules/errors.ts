import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../registry/errors.ts';
import { conflict, invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_rule: invalid(
    'The tenant has as many enabled rules as it may have, or the identity of the rule is malformed.',
  ),
  invalid_rule_trigger: invalid('The trigger of the rule is malformed, or of a type that triggers no rule.'),
  invalid_rule_condition: invalid('The condition of the rule is malformed or too large.'),
  invalid_rule_interpretation: invalid(
    'The interpretation of the rule is malformed, or missing where one is needed.',
  ),
  invalid_rule_action: invalid('The action of the rule is malformed.'),
  unknown_role: invalid('There is no such role for the rule.'),
  unknown_skill: invalid('There is no such skill for the rule, or it can not be called.'),
  rule_skill_side_effects: invalid('A skill with effects outside interprets nothing for a rule.'),
  rule_key_taken: conflict('Another rule has this key.'),
  rule_archived: conflict('The rule was archived.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
