import { type ErrorTable, type Fail, refuse } from '@baton/kernel/refusal';
import { errors as lowerErrors } from '../access/errors.ts';
import { conflict, invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  custom_fields_invalid: invalid("The custom fields don't fit the type's schema."),
  invalid_workspace_type: invalid('The workspace type is named twice, or a type of children is malformed.'),
  workspace_type_exists: conflict('The tenant has a workspace type with this key.'),
  workspace_type_archived: invalid('The workspace type is archived.'),
  workspace_type_in_use: invalid('An active workspace has this type.'),
  system_type_immutable: invalid('The system type takes any child and is never archived.'),
  workspace_archived: invalid('The workspace, or the one above it, is archived.'),
  workspace_slug_conflict: conflict('Another workspace beside it has this slug.'),
  workspace_cycle: invalid('A workspace stands neither below itself nor below its own descendants.'),
  workspace_too_deep: invalid('A workspace has at most 63 others above it.'),
  workspace_has_active_children: invalid('A workspace below it is active.'),
  child_type_not_allowed: invalid('The type of the workspace above takes no child of this type.'),
  unknown_task_type: invalid('The tenant has no task type with this key.'),
  role_slug_conflict: conflict('The tenant, or the workspace, has a role with this slug.'),
  capability_exists: conflict('The tenant has a capability of this name.'),
  skill_exists: conflict('The tenant has this version of the skill.'),
  skill_version_immutable: conflict('What a version of a skill does never changes; record another version.'),
  invalid_status_transition: conflict('The status leads to none of that kind.'),
  skill_not_invocable: conflict('The skill cannot be called.'),
  skill_disabled: invalid('The skill is disabled.'),
  invalid_protocol: invalid('The protocol is unknown.'),
  invalid_calendar: invalid('The calendar is malformed, or cannot say what is asked; `code` names why.'),
  invalid_skill_contract: invalid('The contract of the skill is malformed, or contradicts the skill.'),
  unsupported_skill_condition: invalid(
    'Conditions before or after a call are not judged; the lists must be empty.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
