import { type Permission, permissionNames } from '../../service/permissions.ts';

/** An access role that every tenant has. */
export interface Preset {
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly permissions: readonly Permission[];
}

/**
 * Everything about the work and the people. Configuration and deliveries to other systems are reserved for the
 * operator.
 */
const seen: readonly Permission[] = [
  'agents.read',
  'approvals.read',
  'artifact_types.read',
  'artifacts.read',
  'events.read',
  'goals.read',
  'org.read',
  'principals.read',
  'processes.read',
  'project_templates.read',
  'projects.read',
  'rules.read',
  'task_types.read',
  'tasks.read',
  'workspaces.read',
];

/** Work on tasks, from creating them to requesting a decision. */
const work: readonly Permission[] = [
  'approvals.manage',
  'artifacts.write',
  'delegations.manage',
  'observations.write',
  'sessions.open',
  'skills.invoke',
  'tasks.claim',
  'tasks.write',
];

/** The work of a team. Without `org.manage`, because a person who decides must not appoint the deciders. */
const direction: readonly Permission[] = [
  'claims.manage',
  'goals.write',
  'processes.operate',
  'projects.manage',
  'sessions.manage',
  'workspaces.manage',
];

/** Rights over people, and decisions. */
const notOfOperators: readonly Permission[] = ['admin', 'approvals.decide', 'principals.write'];

/** From the fewest to the most permissions. The reasons are in docs/reference/access.md#access-roles. */
export const presets: readonly Preset[] = [
  {
    key: 'viewer',
    name: 'Viewer',
    description: 'Sees the work, the people and the history, and changes nothing.',
    permissions: seen,
  },
  {
    key: 'member',
    name: 'Member',
    description:
      'Creates tasks, works on them, requests decisions, and decides what is addressed to them. An agent does not decide.',
    permissions: sorted([...seen, ...work, 'approvals.decide']),
  },
  {
    key: 'lead',
    name: 'Lead',
    description:
      "Does what a member does, and directs the work: workspaces, projects, goals, running processes and others' claims.",
    permissions: sorted([...seen, ...work, ...direction, 'approvals.decide']),
  },
  {
    key: 'operator',
    name: 'Operator',
    description:
      'Configures everything and keeps it running: types, rules, processes, agents, connections, deliveries. Decides nothing, and has no rights over people.',
    permissions: sorted(permissionNames.filter((name) => !notOfOperators.includes(name))),
  },
  {
    key: 'administrator',
    name: 'Administrator',
    description: 'May do everything, including what others are allowed to do. People only.',
    permissions: sorted(permissionNames),
  },
];

function sorted(names: readonly Permission[]): Permission[] {
  return names.toSorted();
}

export function findPreset(key: string): Preset | undefined {
  return presets.find((preset) => preset.key === key);
}
