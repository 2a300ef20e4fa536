import type { Permission } from '../../service/permissions.ts';

/** What a decision point knows as kinds of objects (organisation, section 21.3). */
export type ResourceType =
  | 'task'
  | 'run'
  | 'approval'
  | 'artifact'
  | 'workspace'
  | 'project_profile'
  | 'tenant'
  | 'memory_namespace';

/**
 * On which kinds of objects a permission is asked for, the one that tells most first; on the tenant where none of them is
 * at hand. `local`: never asked. What is not there yet is asked for on the workspace in which it is to be.
 */
const askedOn: Readonly<Record<Permission, readonly ResourceType[] | 'local'>> = {
  'principals.read': [],
  'principals.write': [],
  'delegations.manage': 'local',
  'sessions.open': [],
  'sessions.manage': [],
  'tasks.read': ['task', 'run'],
  'tasks.write': ['task', 'workspace'],
  'tasks.claim': ['task', 'run'],
  'claims.manage': ['task', 'run'],
  'events.read': ['workspace'],
  'events.export': ['workspace'],
  'workspaces.read': ['workspace'],
  'workspaces.manage': ['workspace'],
  'org.read': [],
  'org.manage': [],
  'artifacts.read': ['artifact', 'task', 'workspace'],
  'artifacts.write': ['artifact', 'task', 'workspace'],
  'artifact_types.read': [],
  'artifact_types.manage': [],
  'approvals.read': ['approval'],
  'approvals.manage': ['approval', 'workspace'],
  'approvals.decide': ['approval'],
  'observations.write': ['workspace'],
  'knowledge.packs.manage': [],
  'projects.read': ['project_profile'],
  'projects.manage': ['project_profile', 'workspace'],
  'project_templates.read': [],
  'project_templates.manage': [],
  'operations.read': [],
  'operations.manage': [],
  'task_types.read': [],
  'task_types.manage': [],
  'skills.invoke': [],
  'skills.execute': [],
  'processes.read': ['workspace'],
  'processes.write': ['workspace'],
  'processes.operate': ['workspace'],
  'packages.test': [],
  'packages.plan': [],
  'packages.settings.read': [],
  'packages.settings.manage': [],
  'calendars.write': [],
  'goals.read': ['workspace'],
  'goals.write': ['workspace'],
  'rules.read': ['workspace'],
  'rules.write': ['workspace'],
  'agents.read': [],
  'agents.manage': [],
  'agents.status.write': [],
  'agents.secrets.manage': [],
  'connections.read': [],
  'connections.manage': [],
  'connections.status.write': [],
  admin: 'local',
};

/** The permissions of which this service alone decides, in every mode. */
export function isDecidedHere(permission: Permission): boolean {
  return askedOn[permission] === 'local';
}

/** Whether a permission is asked for on objects of a kind. */
export function isAskedOn(permission: Permission, type: ResourceType): boolean {
  return type === 'tenant' || askedOn[permission].includes(type);
}

/** What a yes to these leads to can't be taken back: no remembered answer serves. */
const strong: readonly Permission[] = ['approvals.decide', 'principals.write'];

export function consistencyOf(permission: string): 'default' | 'strong' {
  return (strong as readonly string[]).includes(permission) ? 'strong' : 'default';
}
