/** Every permission, with its scope. */
export const permissions = {
  'principals.read': 'principals, roles, bindings, keys',
  'principals.write': 'principals, roles, bindings, keys; callers cannot grant permissions that they lack',
  'delegations.manage': 'own delegations to agents; with admin, those of any human',
  'sessions.open': 'own sessions',
  'sessions.manage': "others' sessions",
  'tasks.read': 'read tasks, claims and runs',
  'tasks.write': 'create and change tasks',
  'tasks.claim': 'claims, runs, checkpoints, actions, handoffs, finishing runs',
  'claims.manage': "others' claims and runs: release, reclaim, cancel, run controls",
  'events.read': 'journal and stream',
  'events.export': 'reserved',
  'workspaces.read': 'workspaces and their types',
  'workspaces.manage': 'change workspaces and their types',
  'org.read': 'roles, capabilities, skills',
  'org.manage': 'change roles, capabilities, skills',
  'artifacts.read': 'artifacts',
  'artifacts.write': 'create artifacts',
  'artifact_types.read': 'artifact types',
  'artifact_types.manage': 'change artifact types',
  'approvals.read': 'approvals',
  'approvals.manage': 'request and cancel approvals',
  'approvals.decide': 'decide approvals; humans only',
  'observations.write': 'observations and knowledge snapshots',
  'knowledge.packs.manage': 'knowledge packs',
  'projects.read': 'projects',
  'projects.manage': 'change projects',
  'project_templates.read': 'project templates',
  'project_templates.manage': 'change project templates',
  'operations.read': 'delivery state and cursors',
  'operations.manage': 'redrive, archive, prune, rebuild',
  'task_types.read': 'task types; an executor needs it to claim typed work',
  'task_types.manage': 'change task types',
  'skills.invoke': 'request skill invocations',
  'skills.execute': 'execute skill invocations',
  'processes.read': 'process definitions and instances',
  'processes.write': 'change process definitions',
  'processes.operate': 'start and control process instances',
  'packages.test': 'test catalog packages',
  'packages.plan': 'plan catalog packages',
  'packages.settings.read': 'settings of catalog packages',
  'packages.settings.manage': 'change settings of catalog packages',
  'calendars.write': 'production calendars',
  'goals.read': 'goals',
  'goals.write': 'change goals',
  'rules.read': 'work rules',
  'rules.write': 'change work rules',
  'agents.read': 'the agent registry',
  'agents.manage': 'change the agent registry',
  'agents.status.write': 'report the state of an agent',
  'agents.secrets.manage': 'agent secrets',
  'connections.read': 'connections',
  'connections.manage': 'change connections',
  'connections.status.write': 'report lost access',
  admin: 'everything; humans only and only under scope control-plane:admin',
} as const;

export type Permission = keyof typeof permissions;
export const permissionNames = Object.keys(permissions) as Permission[];

/** A permission, or the right to read a memory namespace. See docs/reference/authorization.md#memory. */
export type Action = Permission | 'memory.read';

/** Never granted to agents and services: a machine may neither decide approvals nor administer. */
export const humanOnlyPermissions: readonly Permission[] = ['admin', 'approvals.decide'];

/** Whether a permission is held, or granted by a decision. */
export function holds(held: ReadonlySet<string>, wanted: Permission): boolean {
  return held instanceof DecidedPermissions ? held.allows(wanted) : isCovered(held, wanted);
}

/** Whether the listed permissions alone include a permission; `admin` includes every other one. */
export function isCovered(names: ReadonlySet<string>, wanted: Permission): boolean {
  return names.has(wanted) || names.has('admin');
}

/**
 * Permissions that are decided per request. As a set, this object contains the credential's permissions in this
 * service. See docs/reference/authorization.md.
 */
export abstract class DecidedPermissions extends Set<string> {
  abstract allows(wanted: Permission): boolean;
  /**
   * Returns the objects on which the permission is granted. For many objects, the decision point may be queried for a
   * list.
   */
  abstract permitted(wanted: Action, type: string, ids: readonly string[]): readonly string[];
  /** Like `permitted`, for a few additional objects of a command; each gets its own decision. */
  abstract permittedEach(wanted: Permission, type: string, ids: readonly string[]): readonly string[];
  /** Whether the permission may be granted on any objects at all. */
  abstract reaches(wanted: Permission): boolean;
  /** Whether `permitted` may omit objects. */
  abstract readonly decidesPerObject: boolean;
}

/** Whether a permission is held on at least some objects; `permittedIds` then decides each. */
export function holdsOnSome(held: ReadonlySet<string>, wanted: Permission): boolean {
  return held instanceof DecidedPermissions ? held.reaches(wanted) : isCovered(held, wanted);
}

/** Whether a held permission needs a decision on each object. */
export function decidesPerObject(held: ReadonlySet<string>): boolean {
  return held instanceof DecidedPermissions && held.decidesPerObject;
}

/** Returns the objects on which a held permission applies: all, unless each needs a decision. */
export function permittedIds(
  held: ReadonlySet<string>,
  wanted: Action,
  type: string,
  ids: readonly string[],
): readonly string[] {
  return held instanceof DecidedPermissions ? held.permitted(wanted, type, ids) : ids;
}

/**
 * The permissions for a stored credential: the given ones that a decision point grants or, without one, all that are
 * held.
 */
export function namesHeld(held: ReadonlySet<string>, wanted: readonly Permission[]): string[] {
  return held instanceof DecidedPermissions ? wanted.filter((name) => held.allows(name)) : [...held];
}

/**
 * Narrows the permissions of a binding to the scopes of a token.
 * @returns undefined when the token has no scope of this service
 */
export function narrowByScopes(
  held: readonly string[],
  scopes: ReadonlySet<string>,
): ReadonlySet<string> | undefined {
  const reads = scopes.has('control-plane:read');
  const writes = scopes.has('control-plane:write');
  if (scopes.has('control-plane:admin')) return new Set(held);
  if (!reads && !writes) return undefined;
  return new Set(held.filter((name) => name !== 'admin' && (name.endsWith('.read') ? reads : writes)));
}
