import type { ResourceType } from '../../access/policy/catalogue.ts';
import type { Permission } from '../../service/permissions.ts';

/** An item of a list, as the object on which a permission is asked for. */
export interface ListedObject {
  readonly action: Permission;
  readonly type: ResourceType;
  readonly id: string;
}

/** A list of objects that are each judged (organisation, section 21.3). */
export interface Listed {
  /** The permission of the endpoint that the objects are judged by. */
  readonly action: Permission;
  readonly type: ResourceType;
  /** The column of the list that holds their ids, where the list itself can be narrowed by it. */
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

/** What is filed in a workspace, or in the tenant itself, is judged there. */
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

/** By the name of the operation. Every other list hangs on one object, or shows what the whole tenant shares. */
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

/** Operations without a page that choose their objects themselves, by these permissions on each. */
export const choosing: Readonly<Record<string, readonly Permission[]>> = {
  claimNextTasks: ['tasks.claim', 'tasks.read'],
};
