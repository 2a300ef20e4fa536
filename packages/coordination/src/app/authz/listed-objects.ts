import type { ResourceType } from '../../access/policy/catalogue.ts';
import type { Permission } from '../../service/permissions.ts';

/** The object and permission that decide whether an item of a list is shown. */
export interface ListedObject {
  readonly action: Permission;
  readonly type: ResourceType;
  readonly id: string;
}

/** A list whose items are authorized one by one. See docs/reference/authorization.md#lists. */
export interface Listed {
  /** The endpoint's permission that filters the items. */
  readonly action: Permission;
  readonly type: ResourceType;
  /** The column with the objects' ids, if the query can filter by it. */
  readonly column?: string;
  objectOf(item: never, tenantId: string): ListedObject;
}

type Item = Readonly<Record<string, unknown>>;

function by(action: Permission, type: ResourceType, field: string, column?: string): Listed {
  return {
    action,
    type,
    ...(column !== undefined && { column }),
    objectOf: (item: Item) => ({ action, type, id: item[field] as string }),
  };
}

/** An item is authorized on the workspace in which it is filed, or on the tenant itself. */
function byPlace(action: Permission): Listed {
  return {
    action,
    type: 'workspace',
    objectOf: ({ workspaceId }: { workspaceId: string | null }, tenantId) =>
      workspaceId === null
        ? { action, type: 'tenant', id: tenantId }
        : { action, type: 'workspace', id: workspaceId },
  };
}

/** Keyed by operation id. Every other list belongs to one object, or shows data that the whole tenant shares. */
export const listed: Readonly<Record<string, Listed>> = {
  listTasks: by('tasks.read', 'task', 'id', 'id'),
  listAvailableWork: by('tasks.read', 'task', 'id'),
  listGoalWork: by('tasks.read', 'task', 'id'),
  listClaims: by('tasks.read', 'task', 'taskId', 'task_id'),
  listRuns: by('tasks.read', 'run', 'id', 'id'),
  listApprovals: by('approvals.read', 'approval', 'id', 'id'),
  listArtifacts: by('artifacts.read', 'artifact', 'id', 'id'),
  listWorkspaces: by('workspaces.read', 'workspace', 'id', 'id'),
  listProjects: by('projects.read', 'project_profile', 'id', 'id'),
  listGoals: byPlace('goals.read'),
  listRules: byPlace('rules.read'),
  listProcessDefinitions: byPlace('processes.read'),
  listProcessInstances: byPlace('processes.read'),
  listExternalReferences: {
    action: 'tasks.read',
    type: 'task',
    objectOf: ({ entityType, entityId }: { entityType: string; entityId: string }) =>
      entityType === 'task'
        ? { action: 'tasks.read', type: 'task', id: entityId }
        : { action: 'projects.read', type: 'project_profile', id: entityId },
  },
};

/** Operations that select their objects themselves, with the permissions required on each object. */
export const permissionsPerObject: Readonly<Record<string, readonly Permission[]>> = {
  claimNextTasks: ['tasks.claim', 'tasks.read'],
};
