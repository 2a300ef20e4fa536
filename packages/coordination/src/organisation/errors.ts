import { conflict, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../access/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  custom_fields_invalid: invalid(
    'The custom fields do not match the schema of the type or, at a completion, the form of the process step.',
    'Correct each field in `details.errors`. The schema is `fieldSchema` of the type; `GET /tasks/{ref}/form` returns the form of a step.',
    {
      refused: 'POST /tasks {"title":"Crash","typeKey":"bug","customFields":{"severity":"high"}}',
      right: 'POST /tasks {"title":"Crash","typeKey":"bug","customFields":{"severity":2}}',
    },
  ),
  invalid_workspace_type: invalid(
    'The workspace type is specified twice, or an allowed child type is malformed.',
    'Send either `typeId` or `typeKey`; in `allowedChildTypes` send keys, or `*` for any type.',
    {
      refused: 'POST /workspace-types {"key":"team","displayName":"Team","allowedChildTypes":["Any type"]}',
      right: 'POST /workspace-types {"key":"team","displayName":"Team","allowedChildTypes":["*"]}',
    },
  ),
  workspace_type_exists: conflict(
    'The tenant already has a workspace type with this key.',
    'Change the existing type with `PATCH /workspace-types/{id}`, or choose another key.',
  ),
  workspace_type_archived: invalid(
    'The workspace type is archived.',
    'Restore the type with `POST /workspace-types/{id}:restore`, or choose another one.',
  ),
  workspace_type_in_use: invalid(
    'An active workspace has this type.',
    'Archive those workspaces or change their type first; `details.activeWorkspaces` counts them.',
  ),
  system_type_immutable: invalid(
    'The system type allows any child and cannot be archived.',
    'Create a workspace type of your own to restrict children.',
  ),
  workspace_archived: invalid(
    'The workspace or one of its ancestors is archived.',
    'Restore it with `POST /workspaces/{id}:restore`, or use another workspace.',
  ),
  workspace_slug_conflict: conflict(
    'A sibling workspace already has this slug.',
    'Choose another slug, or use the existing workspace.',
  ),
  workspace_cycle: invalid(
    'The workspace would be below itself or one of its descendants.',
    'Choose a parent outside of the moved subtree.',
  ),
  workspace_too_deep: invalid(
    'Workspaces would be nested more than 64 levels deep.',
    'Choose a parent closer to the root; the subtree of a moved workspace counts too.',
  ),
  workspace_has_active_children: invalid(
    'A child workspace is active.',
    'Archive its `details.activeChildren` child workspaces first.',
  ),
  child_type_not_allowed: invalid(
    'The type of the parent workspace allows no children of this type.',
    "Choose one of `details.allowedChildTypes`, or add the type to the parent's type.",
  ),
  unknown_task_type: invalid(
    'The tenant has no task type with this key.',
    'Create the type first, or correct the key; `GET /task-types` lists them.',
  ),
  role_slug_conflict: conflict(
    'The tenant or the workspace already has a role with this slug.',
    'Use the existing role, or choose another slug.',
  ),
  capability_exists: conflict(
    'The tenant already has a capability with this name.',
    'Use the existing capability, or choose another name.',
  ),
  skill_exists: conflict(
    'The tenant already has this version of the skill.',
    'Register the change as a new `version`.',
    {
      refused: 'POST /skills {"name":"lint","version":"1.0.0"}',
      right: 'POST /skills {"name":"lint","version":"1.1.0"}',
    },
  ),
  skill_version_immutable: conflict(
    'The behaviour of a skill version cannot be changed.',
    'Register a new version with other `details.fields`, and deprecate this one.',
  ),
  invalid_status_transition: conflict(
    'The object cannot change from its current status to this one.',
    'Choose one of `details.allowed`; some statuses are final.',
  ),
  skill_not_invocable: conflict(
    'The skill cannot be called.',
    'See `details.reason`: enable the skill, give it a contract, or use a protocol that can be called.',
  ),
  skill_disabled: invalid(
    'The skill is disabled.',
    'Use another version, or enable the skill with `PATCH /skills/{ref}`.',
  ),
  invalid_protocol: invalid('The protocol is unknown.', 'Send one of `details.allowed`.', {
    refused: 'POST /skills {"name":"lint","protocol":"grpc"}',
    right: 'POST /skills {"name":"lint","protocol":"http"}',
  }),
  invalid_calendar: invalid(
    'The calendar is malformed, or does not cover the requested computation.',
    'Correct the value at `details.path`; `details.code` names the defect. Publish a version that covers a missing year.',
  ),
  invalid_skill_contract: invalid(
    'The contract of the skill is malformed, or contradicts the skill.',
    'Correct `details.field`; `details.message` describes the problem. Protocol and schemas belong to the contract only.',
  ),
  unsupported_skill_condition: invalid(
    'The contract has preconditions or postconditions, which are not evaluated.',
    'Leave `preconditions` and `postconditions` empty.',
  ),
  invalid_lifecycle_schema: invalid(
    'The lifecycle is malformed.',
    'Correct the value at `details.path`; `details.message` describes the problem. The initial status and both ends of each transition must be declared statuses.',
    {
      refused:
        'POST /task-types {"key":"bug","displayName":"Bug","lifecycleSchema":{"initialStatus":"new","statuses":[{"key":"open","category":"ready"}]}}',
      right:
        'POST /task-types {"key":"bug","displayName":"Bug","lifecycleSchema":{"initialStatus":"open","statuses":[{"key":"open","category":"ready"},{"key":"done","category":"terminal_success"}],"transitions":[{"from":"open","to":"done"}]}}',
    },
  ),
  status_not_in_lifecycle: invalid(
    'The lifecycle of the type or template has no such status.',
    'Send one of `details.known`.',
    {
      refused: 'POST /projects/{id}:transition {"statusKey":"done"}\nIf-Match: "project-2"',
      right: 'POST /projects/{id}:transition {"statusKey":"completed"}\nIf-Match: "project-2"',
    },
  ),
  invalid_transition: invalid(
    'The lifecycle has no such transition.',
    'Move to one of `details.allowed` first. `GET /tasks/{ref}/transitions` lists the transitions of a task.',
  ),
  invalid_status_category: invalid('The status category is unknown.', 'Send one of `details.known`.', {
    refused: 'GET /projects?systemStatusCategory=done',
    right: 'GET /projects?systemStatusCategory=terminal_success',
  }),
  invalid_external_lookup: invalid(
    'The lookup specifies neither an object nor an external name, or both.',
    'Send either `entityType` and `entityId`, or the whole external name.',
    {
      refused: 'GET /external-references?externalSystem=jira',
      right: 'GET /external-references?externalSystem=jira&externalType=issue&externalId=ABC-1',
    },
  ),
  workspace_has_active_project: invalid(
    'The project of the workspace is active.',
    'Archive the project `details.projectId` first.',
  ),
  invalid_template: invalid(
    'The views of the template are malformed, or the template has more than 50.',
    'Correct `details.field`, or send fewer views.',
  ),
  invalid_template_reference: invalid(
    'The template is specified by neither id nor key, or by both.',
    'Send either `templateId`, or `templateKey` and optionally `templateVersion`.',
    {
      refused: 'POST /projects {"workspaceSlug":"apollo"}',
      right: 'POST /projects {"workspaceSlug":"apollo","templateKey":"software"}',
    },
  ),
  template_deprecated: invalid(
    'The version of the template is deprecated.',
    'Send `templateKey` without a version to get the newest active one.',
  ),
  invalid_project_request: invalid(
    'The workspace is specified by neither id nor slug, or by both; or one field contradicts another.',
    'Send only one of `details.fields`.',
    {
      refused: 'POST /projects {"templateKey":"software"}',
      right: 'POST /projects {"templateKey":"software","workspaceSlug":"apollo"}',
    },
  ),
  project_exists: conflict(
    'The workspace already has a project.',
    'Use that project (`GET /projects?workspaceId=`), or create the new one in its own workspace.',
  ),
  project_archived: invalid(
    'The project or one of its ancestors is archived.',
    'Restore it with `POST /projects/{id}:restore` before you change it.',
  ),
  unknown_config_section: invalid(
    'The project configuration contains an unknown section.',
    'Remove `details.unknown`, or move its content into one of `details.known`.',
    {
      refused: 'POST /projects/{id}/config-revisions {"config":{"policy":{"maxRunActions":50}}}',
      right: 'POST /projects/{id}/config-revisions {"config":{"governance":{"maxRunActions":50}}}',
    },
  ),
  invalid_config: invalid(
    'A section of the project configuration is malformed.',
    'Correct the value at `details.path`.',
  ),
  governance_not_in_settings: invalid(
    'Governance is a separate section and cannot be a setting.',
    'Send it as `governance` of a configuration revision.',
    {
      refused:
        'POST /projects/{id}/config-revisions {"config":{"settings":{"governance":{"maxRunActions":50}}}}',
      right: 'POST /projects/{id}/config-revisions {"config":{"governance":{"maxRunActions":50}}}',
    },
  ),
  instructions_too_large: invalid(
    'The instructions for agents are longer than 16 KiB.',
    'Shorten them; link to longer documents or store them as artifacts.',
  ),
  unknown_governance_field: invalid(
    'The governance section contains an unknown field.',
    'Use one of `details.known`.',
    {
      refused: 'POST /projects/{id}/config-revisions {"config":{"governance":{"maxActions":50}}}',
      right: 'POST /projects/{id}/config-revisions {"config":{"governance":{"maxRunActions":50}}}',
    },
  ),
  invalid_governance: invalid(
    'A governance field has a value of the wrong type or out of range.',
    'Correct the value at `details.path`: limits are whole numbers or null, requirements are true or false.',
    {
      refused: 'POST /projects/{id}/config-revisions {"config":{"governance":{"maxAutonomyLevel":"full"}}}',
      right:
        'POST /projects/{id}/config-revisions {"config":{"governance":{"maxAutonomyLevel":"autonomous"}}}',
    },
  ),
  governance_weakened: invalid(
    'The governance of the project would be less strict than that of an ancestor.',
    'Tighten the fields in `details.violations` to the value of the ancestor, or relax the ancestor first.',
  ),
  setting_locked: invalid(
    'An ancestor of the project has locked the setting.',
    'Leave `details.lockedSettings` out, or unlock them in the ancestor.',
  ),
  calendar_in_use: conflict(
    'A process uses the calendar.',
    'Change or retire the processes in `details.processes` first. `dryRun=true` shows them without retiring anything.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
