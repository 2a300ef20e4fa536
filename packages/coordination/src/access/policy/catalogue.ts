import type { Permission } from '../../service/permissions.ts';

/** The kinds of objects that a decision point decides on. See docs/reference/authorization.md#catalog. */
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
 * The kinds of objects on which a permission is checked, the most specific first; the tenant if the request refers to
 * none of them. `local`: never delegated. A new object is checked on the workspace in which it is created.
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

/** Whether this service alone decides a permission in every mode. */
export function isDecidedHere(permission: Permission): boolean {
  return askedOn[permission] === 'local';
}

/** Whether a permission is checked on objects of a kind. */
export function isCheckedOn(permission: Permission, type: ResourceType): boolean {
  return type === 'tenant' || askedOn[permission].includes(type);
}

/** Permissions with irreversible effects, which require a fresh decision instead of a cached one. */
const strong: readonly Permission[] = ['approvals.decide', 'principals.write'];

export function consistencyOf(permission: string): 'default' | 'strong' {
  return (strong as readonly string[]).includes(permission) ? 'strong' : 'default';
}
