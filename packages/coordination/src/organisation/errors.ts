import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../access/errors.ts';
import { conflict, invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  custom_fields_invalid: invalid(
    "The custom fields don't satisfy the type's schema or, at a completion, the form of the task's process step.",
  ),
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
  invalid_lifecycle_schema: invalid('The lifecycle has a defect; the path says where.'),
  status_not_in_lifecycle: invalid("The status is not one of the type's or the template's lifecycle."),
  invalid_transition: invalid('The lifecycle declares no such move.'),
  invalid_status_category: invalid('The status category is unknown.'),
  invalid_external_lookup: invalid('The lookup names neither an object nor an external name, or both.'),
  workspace_has_active_project: invalid('The project of the workspace is active.'),
  invalid_template: invalid('The template has views in another form, or more than 50.'),
  invalid_template_reference: invalid('The template is named by neither id nor key, or by both.'),
  template_deprecated: invalid('The version of the template is deprecated.'),
  invalid_project_request: invalid(
    'The workspace is named by neither id nor slug, or by both; or a field contradicts another.',
  ),
  project_exists: conflict('The workspace has a project.'),
  project_archived: invalid('The project, or the one above it, is archived.'),
  unknown_config_section: invalid('A configuration has no such section.'),
  invalid_config: invalid('A section of the configuration is malformed; the path says which.'),
  governance_not_in_settings: invalid('Governance is a section of its own, and no setting.'),
  instructions_too_large: invalid('The instructions of agents are longer than 16 KiB.'),
  unknown_governance_field: invalid('Governance has no such field.'),
  invalid_governance: invalid('A field of the governance has no value that it can have.'),
  governance_weakened: invalid('A project allows no more than the projects above it.'),
  setting_locked: invalid('A project above has locked the setting.'),
  calendar_in_use: conflict('A process leans on the calendar.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
