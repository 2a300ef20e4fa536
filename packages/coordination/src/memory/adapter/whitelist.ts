/**
 * The payload fields that the memory service receives for each event type; all others are removed. See
 * docs/reference/memory.md#context-adapter.
 */
export interface ToldEvent {
  /** A plain sentence; a name in braces is a required field of the payload. */
  readonly content: string;
  /** Fields of the payload by name; the first name of a pair is the field's name in the item. */
  readonly fields: readonly (string | readonly [as: string, field: string])[];
}

/** Incremented whenever the items change. */
export const mappingVersion = 5;

/** Fields that are never sent, even when nested in others, because they hold the tenant's own data. */
export const neverTold: readonly string[] = ['customFields', 'config'];

/**
 * Version 5 of the whitelist. Events of other types are not sent. Comments are also excluded: the observation is the
 * only event that is meant to carry free text. See docs/reference/memory.md#observations.
 */
export const whitelist: Readonly<Record<string, ToldEvent>> = {
  'tenant.bootstrapped': { content: 'The tenant {slug} was founded.', fields: ['slug'] },
  'principal.created': {
    content: 'The {kind} {displayName} was added.',
    fields: ['kind', 'displayName'],
  },
  'task.created': {
    content: 'Task {publicId} was created with priority {priority} and status {status}: {title}',
    fields: ['publicId', 'title', 'status', 'priority', 'workspaceId', 'goalId', 'origin'],
  },
  'task.updated': {
    content: 'Task {publicId} was changed: {changes}.',
    fields: ['publicId', 'changes', 'version'],
  },
  'task.claimed': {
    content: 'Task {publicId} was claimed.',
    fields: ['publicId', 'claimId', 'sessionId', 'holderId'],
  },
  'task.completed': {
    content: 'Task {publicId} was completed with status {status}.',
    fields: ['publicId', 'status', 'systemStatusCategory', 'version'],
  },
  'task.relation_added': {
    content: 'A relation {type} of the task to another one was added.',
    fields: ['relationId', 'toTaskId', 'type'],
  },
  'task.relation_removed': {
    content: 'A relation {type} of the task to another one was removed.',
    fields: ['relationId', 'fromTaskId', 'toTaskId', 'type'],
  },
  'run.started': {
    content: 'Attempt {attempt} at the task was started.',
    fields: ['taskId', 'claimId', 'attempt'],
  },
  'run.succeeded': {
    content: 'Attempt {attempt} at the task succeeded.',
    fields: ['taskId', 'attempt', 'taskCompleted'],
  },
  'run.failed': {
    content: 'Attempt {attempt} at the task failed: {reason}.',
    fields: ['taskId', 'attempt', 'reason'],
  },
  'run.cancelled': {
    content: 'Attempt {attempt} at the task was cancelled: {reason}.',
    fields: ['taskId', 'attempt', 'reason'],
  },
  'run.suspended': {
    content: 'Attempt {attempt} at the task was suspended: {reason}.',
    fields: ['taskId', 'attempt', 'reason', 'waitingForApprovalId'],
  },
  'artifact.created': {
    content: 'The artifact {name} of type {type} was made.',
    fields: ['taskId', 'runId', 'type', 'name', 'uri', ['supersedes', 'supersedesArtifactId']],
  },
  'approval.requested': {
    content: 'An approval was requested.',
    fields: [
      'taskId',
      'artifactId',
      'requiredRoleId',
      'assignedPrincipalId',
      'gate',
      'workspaceId',
      'taskPublicId',
      'taskTitle',
      'requestedBy',
    ],
  },
  'approval.approved': {
    content: 'The approval was given.',
    fields: ['taskId', 'artifactId', 'decisionBy', 'channel', 'outcomeStatus'],
  },
  'approval.rejected': {
    content: 'The approval was refused.',
    fields: ['taskId', 'artifactId', 'decisionBy', 'channel', 'outcomeStatus'],
  },
  'approval.cancelled': {
    content: 'The approval was cancelled.',
    fields: ['taskId', 'cancelledBy'],
  },
  'goal.created': {
    content: 'The goal was set with status {status}: {title}',
    fields: ['goalId', 'title', 'status', 'workspaceId', 'ownerId', 'parentGoalId', 'criteriaCount'],
  },
  'goal.updated': {
    content: 'The goal was changed: {changes}.',
    fields: ['goalId', 'changes', 'version', 'fromStatus', 'status'],
  },
  'workspace.created': {
    content: 'The workspace {name} ({slug}) of type {typeKey} was made.',
    fields: ['slug', 'name', 'parentId', 'typeKey'],
  },
  'workspace.updated': {
    content: 'The workspace was changed: {changes}.',
    fields: ['changes', 'version'],
  },
  'workspace.moved': {
    content: 'The workspace was moved below another one.',
    fields: ['fromParentId', 'toParentId'],
  },
  'workspace.archived': { content: 'The workspace {slug} was archived.', fields: ['slug'] },
  'workspace.member_added': { content: 'A member joined the workspace.', fields: ['principalId'] },
  'workspace.member_removed': { content: 'A member left the workspace.', fields: ['principalId'] },
  'project.created': {
    content: 'The project was made from {templateKey} with status {statusKey}.',
    fields: [
      'workspaceId',
      'parentProjectId',
      'templateKey',
      'templateVersion',
      'statusKey',
      'systemStatusCategory',
    ],
  },
  'project.status_changed': {
    content: 'The project went from {fromStatusKey} to {statusKey}.',
    fields: ['fromStatusKey', 'fromSystemStatusCategory', 'statusKey', 'systemStatusCategory', 'version'],
  },
  'project.archived': { content: 'The project was archived.', fields: ['workspaceId', 'version'] },
  'project.config_revision_activated': {
    content: 'Configuration {revision} of the project counts from now on.',
    fields: ['revision', 'revisionId', 'version'],
  },
  'project_template.created': {
    content: 'Version {version} of the project template {key} was made: {displayName}',
    fields: ['key', 'version', 'displayName', 'initialStatus'],
  },
  'role.created': {
    content: 'The role {name} ({slug}) was made.',
    fields: ['slug', 'name', 'workspaceId'],
  },
  'role.updated': { content: 'The role was changed: {changes}.', fields: ['changes', 'version'] },
  'role.assigned': { content: 'The principal was given a role.', fields: ['roleId', 'workspaceId'] },
  'role.revoked': { content: 'A role was taken from the principal.', fields: ['roleId', 'workspaceId'] },
  'capability.created': { content: 'The capability {name} was made.', fields: ['name'] },
  'capability.updated': {
    content: 'The capability was changed: {changes}.',
    fields: ['changes', 'version'],
  },
  'capability.assigned': { content: 'The principal was given a capability.', fields: ['capabilityId'] },
  'capability.revoked': {
    content: 'A capability was taken from the principal.',
    fields: ['capabilityId'],
  },
  'skill.registered': {
    content: 'The skill {name} was registered in version {version}.',
    fields: ['name', 'version', 'protocol', 'invocable', 'sideEffects', 'riskLevel'],
  },
  'skill.updated': {
    content: 'The skill was changed: {changedFields}.',
    fields: ['changedFields', 'rowVersion'],
  },
  'skill.assigned': { content: 'The principal was given a skill.', fields: ['skillId'] },
  'skill.revoked': { content: 'A skill was taken from the principal.', fields: ['skillId'] },
  'delegation.created': {
    content: 'A person let an agent act on their behalf.',
    fields: ['humanPrincipalId', 'agentPrincipalId', 'permissions'],
  },
  'delegation.revoked': { content: 'The delegation was revoked.', fields: ['reason'] },
  'observation.recorded': {
    content: '{content}',
    fields: ['source', 'dedupKey', 'externalRef', 'taskId', 'runId', 'workspaceId', 'supersedes', 'data'],
  },
  'workspace_type.created': {
    content: 'The workspace type {displayName} ({key}) was made.',
    fields: ['key', 'displayName', 'allowedChildTypes'],
  },
};
