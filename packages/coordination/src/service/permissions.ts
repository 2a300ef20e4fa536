/** Every permission of the specification and of the contract's additions (organisation, D5), with its area. */
export const permissions = {
  'principals.read': 'principals, roles, bindings, keys',
  'principals.write': 'principals, roles, bindings, keys; nobody grants what they lack',
  'delegations.manage': 'letting an agent act for oneself; with admin, for any human',
  'sessions.open': 'own sessions',
  'sessions.manage': "others' sessions",
  'tasks.read': 'reading tasks, claims and runs',
  'tasks.write': 'creating and changing tasks',
  'tasks.claim': 'claims, runs, checkpoints, actions, handoff, finishing a run',
  'claims.manage': "others' claims and runs: release, reclaim, cancel, run controls",
  'events.read': 'journal and stream',
  'events.export': 'reserved',
  'workspaces.read': 'workspaces and their types',
  'workspaces.manage': 'changing workspaces and their types',
  'org.read': 'roles, capabilities, skills',
  'org.manage': 'changing roles, capabilities, skills',
  'artifacts.read': 'artifacts',
  'artifacts.write': 'making artifacts',
  'artifact_types.read': 'artifact types',
  'artifact_types.manage': 'changing artifact types',
  'approvals.read': 'approvals',
  'approvals.manage': 'asking for and cancelling approvals',
  'approvals.decide': 'deciding approvals; humans only',
  'observations.write': 'observations and knowledge snapshots',
  'knowledge.packs.manage': 'knowledge packs',
  'projects.read': 'projects',
  'projects.manage': 'changing projects',
  'project_templates.read': 'project templates',
  'project_templates.manage': 'changing project templates',
  'operations.read': 'delivery state and cursors',
  'operations.manage': 'redrive, archive, prune, rebuild',
  'task_types.read': 'task types; an executor needs it to take typed work',
  'task_types.manage': 'changing task types',
  'skills.invoke': 'asking for a skill call',
  'skills.execute': 'executing skill calls',
  'processes.read': 'process definitions and instances',
  'processes.write': 'changing process definitions',
  'processes.operate': 'running process instances',
  'packages.test': 'testing catalog packages',
  'packages.plan': 'planning catalog packages',
  'packages.settings.read': 'settings of catalog packages',
  'packages.settings.manage': 'changing settings of catalog packages',
  'calendars.write': 'production calendars',
  'goals.read': 'goals',
  'goals.write': 'changing goals',
  'rules.read': 'work rules',
  'rules.write': 'changing work rules',
  'agents.read': 'the agent registry',
  'agents.manage': 'changing the agent registry',
  'agents.status.write': 'reporting the state of an agent',
  'agents.secrets.manage': 'agent secrets',
  'connections.read': 'connections',
  'connections.manage': 'changing connections',
  'connections.status.write': 'reporting lost access',
  admin: 'everything; humans only and only under scope control-plane:admin',
} as const;

export type Permission = keyof typeof permissions;
export const permissionNames = Object.keys(permissions) as Permission[];

/** What objects are judged by: a permission, or whether a namespace of memory may be read (organisation, section 21.3). */
export type Action = Permission | 'memory.read';

/** Never given to agents and services: a machine neither decides approvals nor administers. */
export const humanOnlyPermissions: readonly Permission[] = ['admin', 'approvals.decide'];

/** Whether a permission is held, or granted by whoever judges it. */
export function holds(held: ReadonlySet<string>, wanted: Permission): boolean {
  return held instanceof JudgedPermissions ? held.allows(wanted) : isCovered(held, wanted);
}

/** Whether the names cover a permission by themselves, whoever judges; `admin` covers every other one. */
export function isCovered(names: ReadonlySet<string>, wanted: Permission): boolean {
  return names.has(wanted) || names.has('admin');
}

/**
 * Permissions that are judged for each request, and not by their names (organisation, section 21). As a set it has the names
 * that the credential has here.
 */
export abstract class JudgedPermissions extends Set<string> {
  abstract allows(wanted: Permission): boolean;
  /** Those of the objects on which it is granted. They may be many: whoever judges may be asked for all that there are. */
  abstract permitted(wanted: Action, type: string, ids: readonly string[]): readonly string[];
  /** The same for a few objects that a command names besides its own: each is asked about by itself. */
  abstract permittedEach(wanted: Permission, type: string, ids: readonly string[]): readonly string[];
  /** Whether the permission may be granted on some objects, whichever they are. */
  abstract reaches(wanted: Permission): boolean;
  /** Whether `permitted` leaves objects out. */
  abstract readonly judgesObjects: boolean;
}

/** Whether a permission is held on some objects at least, each of which is then asked about by `permittedIds`. */
export function holdsOnSome(held: ReadonlySet<string>, wanted: Permission): boolean {
  return held instanceof JudgedPermissions ? held.reaches(wanted) : isCovered(held, wanted);
}

/** Whether somebody judges the objects on which a permission that is held may be used. */
export function judgesObjects(held: ReadonlySet<string>): boolean {
  return held instanceof JudgedPermissions && held.judgesObjects;
}

/** Those of the objects on which a permission that is held may be used: all of them, unless somebody judges each. */
export function permittedIds(
  held: ReadonlySet<string>,
  wanted: Action,
  type: string,
  ids: readonly string[],
): readonly string[] {
  return held instanceof JudgedPermissions ? held.permitted(wanted, type, ids) : ids;
}

/** The permissions among these that are held, for what is done later with the rights of now. */
export function namesHeld(held: ReadonlySet<string>, wanted: readonly Permission[]): string[] {
  return held instanceof JudgedPermissions ? wanted.filter((name) => held.allows(name)) : [...held];
}

/**
 * Narrows the permissions of a binding to what the scopes of a token allow.
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
