/**
 * Every permission, with what it allows, for people who don't know the API: the list of access roles, the console and
 * docs/permissions.md show these texts.
 */
export const permissions = {
  'principals.read':
    'see people, agents and services, what each is allowed to do, and which sign-ins they have',
  'principals.write':
    'add, change and disable people, agents and services, and change what they are allowed to do, up to own permissions',
  'delegations.manage': "let an agent act in one's own name; with admin, in the name of anybody",
  'sessions.open': 'open own work sessions; needed to claim tasks',
  'sessions.manage': "see and close others' work sessions",
  'tasks.read': 'see tasks, who works on them, and what was done',
  'tasks.write': 'create and change tasks, and comment on them',
  'tasks.claim': 'claim tasks, work on them and complete them',
  'claims.manage': "release, reassign and stop others' work on tasks",
  'events.read': 'read the history of all changes, and follow it live',
  'events.export': 'reserved for the export of the history; no call needs it yet',
  'workspaces.read': 'see workspaces, their types and their members',
  'workspaces.manage': 'create, change and archive workspaces and their types, and choose their members',
  'org.read': 'see roles, capabilities and skills, and who has them',
  'org.manage':
    'change roles, capabilities and skills, and assign them; a role can make somebody the decider of approvals',
  'artifacts.read': 'see and download results and files',
  'artifacts.write': 'add results and files',
  'artifact_types.read': 'see the types of results',
  'artifact_types.manage': 'define the types of results',
  'approvals.read': 'see decisions that were requested or made',
  'approvals.manage': 'request decisions, and cancel own requests',
  'approvals.decide': 'decide what is addressed to them or to one of their roles; people only',
  'observations.write': 'record measurements, findings and other knowledge',
  'knowledge.packs.manage': 'manage packs of rules for knowledge',
  'projects.read': 'see projects and their settings',
  'projects.manage': 'create, change and archive projects',
  'project_templates.read': 'see project templates',
  'project_templates.manage': 'define project templates',
  'operations.read': 'see the state of deliveries to other systems, and what could not be delivered',
  'operations.manage': 'repeat or drop failed deliveries, and archive or delete old history',
  'task_types.read': 'see task types; needed to claim tasks that have a type',
  'task_types.manage': 'define task types: fields, statuses and required results',
  'skills.invoke': 'call the tools that are assigned to them',
  'skills.execute': 'carry out calls of tools and return their results',
  'processes.read': 'see process definitions and running processes',
  'processes.write': 'define processes',
  'processes.operate': 'start, suspend, resume and cancel processes',
  'packages.test': 'test catalog packages',
  'packages.plan': 'plan and install catalog packages',
  'packages.settings.read': 'see the settings of catalog packages',
  'packages.settings.manage': 'change the settings of catalog packages',
  'calendars.write': 'define working times and holidays',
  'goals.read': 'see goals and their progress',
  'goals.write': 'create and change goals',
  'rules.read': 'see work rules and what they did',
  'rules.write': 'create, change, enable and disable work rules, which act automatically',
  'agents.read': 'see registered agents and their configuration',
  'agents.manage': 'register, configure, stop and retire agents',
  'agents.status.write': "report an agent's state and link its sign-in",
  'agents.secrets.manage': 'set and delete the secrets of agents',
  'connections.read': 'see connections to other systems',
  'connections.manage': 'connect other systems and disconnect them',
  'connections.status.write': 'report that a connection no longer works',
  admin: 'do everything; people only, and with a token only if it has the scope control-plane:admin',
} as const;

export type Permission = keyof typeof permissions;
export const permissionNames = Object.keys(permissions) as Permission[];

/** What a list of permissions allows, in words; `admin` covers everything else. */
export function describePermissions(names: readonly string[]): string[] {
  if (names.includes('admin')) return [permissions.admin];
  return permissionNames.filter((name) => names.includes(name)).map((name) => permissions[name]);
}

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
