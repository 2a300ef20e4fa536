import type { BatonClient } from '@baton/sdk';

/** One list of the API, whose items an export contains unchanged. */
export interface ExportedKind {
  readonly kind: string;
  list(baton: BatonClient): AsyncIterable<unknown>;
}

const limit = 200;

/**
 * All objects of a tenant that the API lists, except for tasks (which include their relations and comments) and the
 * journal (`baton operations export`). No response of the API contains a secret. Referenced objects precede others:
 * people, then declarations, then work.
 */
export const exportedKinds: readonly ExportedKind[] = [
  { kind: 'role', list: (baton) => baton.roles.list({ limit }) },
  { kind: 'capability', list: (baton) => baton.capabilities.list({ limit }) },
  { kind: 'skill', list: (baton) => baton.skills.list({ limit }) },
  { kind: 'principal', list: (baton) => baton.principals.list({ limit }) },
  { kind: 'delegation', list: (baton) => baton.delegations.list({ limit }) },
  { kind: 'calendar', list: (baton) => baton.calendars.list({ limit }) },
  { kind: 'workspace-type', list: (baton) => baton.workspaceTypes.list({ limit }) },
  { kind: 'workspace', list: (baton) => baton.workspaces.list({ limit }) },
  { kind: 'task-type', list: (baton) => baton.taskTypes.list({ limit }) },
  { kind: 'artifact-type', list: (baton) => baton.artifactTypes.list({ limit }) },
  { kind: 'project-template', list: (baton) => baton.projectTemplates.list({ limit }) },
  { kind: 'project', list: (baton) => baton.projects.list({ limit }) },
  { kind: 'goal', list: (baton) => baton.goals.list({ limit }) },
  { kind: 'connection-type', list: (baton) => baton.connectionTypes.list({ limit }) },
  { kind: 'connection', list: (baton) => baton.connections.list({ limit }) },
  { kind: 'agent', list: (baton) => baton.agents.list({ limit }) },
  { kind: 'rule', list: (baton) => baton.rules.list({ limit }) },
  { kind: 'process-definition', list: (baton) => baton.processDefinitions.list({ limit }) },
  { kind: 'process-instance', list: (baton) => baton.processInstances.list({ limit }) },
  { kind: 'view', list: (baton) => baton.views.list() },
  { kind: 'approval', list: (baton) => baton.approvals.list({ limit }) },
  { kind: 'artifact', list: (baton) => baton.artifacts.list({ limit }) },
  { kind: 'run', list: (baton) => baton.runs.list({ limit }) },
  { kind: 'claim', list: (baton) => baton.claims.list({ limit }) },
];
