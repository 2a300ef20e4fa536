import { type ErrorTable, type Fail, refuse } from '@baton/kernel/refusal';
import { errors as lowerErrors } from '../registry/errors.ts';
import { conflict, invalid, retryLater, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  unknown_object: invalid('The tenant has no object of this kind and key.'),
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
  process_retired: conflict('The process was retired: none of its instances is started any more.'),
  invalid_process_data: invalid('The data do not fit the schema of the process.'),
  process_instance_exists: conflict('An instance of the process with this key has not ended.'),
  process_definition_unusable: conflict(
    'The agent of the process is not linked to an identity (PUT /agents/{key}/identity), or can not act.',
  ),
  catalog_key_busy: row(503, retryLater)('Somebody else is starting an instance with this key right now.'),
  invalid_process_instance_state: conflict('The state of the instance does not allow it.'),
  invalid_process: invalid('The definition of the process has problems, which the details list.'),
  plan_stale: conflict(
    'What the plan was made for has changed since; the details name the plan as it is now.',
  ),
  migration_required: invalid(
    'Instances of a process run by a version that the new one does not follow, and its migrations do not say how.',
  ),
  calendar_retired: conflict('A person or another package retired the calendar.'),
  process_version_conflict: conflict(
    'This version of the process is there with other content, or its number is not above the latest.',
  ),
  invalid_package: invalid('The package has problems, which the details list.'),
  undeclared_filter: invalid('The block of the view declares no such filter; `declared` are those it has.'),
  undeclared_sort: invalid('The block of the view declares no such sort; `declared` are those it has.'),
  workspace_required: invalid('The block of the view is about one workspace: `workspaceId` says which.'),
  view_too_costly: row(
    409,
    'Narrow the query by a filter.',
  )('The query would look at more than 20,000 rows, or take longer than a list may.'),
  not_implemented: row(501, 'Do without it.')('The source of the block is not read by views yet.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
