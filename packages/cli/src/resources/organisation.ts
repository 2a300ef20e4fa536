import type { Goal, Role, Rule, Session, TaskType, Workspace } from '@baton/sdk';
import { findGoalId, findRoleId, findRuleId, findTaskTypeId, findWorkspaceId } from '../names.ts';
import { responseOf } from '../result-form.ts';
import { defineColumns, type Resource } from './resource.ts';

/** Workspaces, goals, rules, task types, roles and sessions: lists and views. */
export const organisationResources: readonly Resource[] = [
  {
    noun: 'workspace',
    summary: 'workspaces',
    list: {
      operation: 'listWorkspaces',
      columns: defineColumns<Workspace>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['SLUG', 'slug'],
        ['ABOVE', 'parentId'],
        ['NAME', 'name'],
      ),
      filters: [
        ['--status <status>', 'active or archived'],
        ['--parent-id <workspace>', 'directly below this one, by slug, name or id', findWorkspaceId],
      ],
      call: ({ baton }, query) => baton.workspaces.list(query),
    },
    view: {
      argument: 'workspace',
      operation: 'getWorkspace',
      call: async ({ baton, args: [name = ''] }) => baton.workspaces.get(await findWorkspaceId(baton, name)),
    },
    acts: [
      {
        usage: 'create <slug> <name>',
        summary: 'create a workspace',
        result: responseOf('createWorkspace'),
        options: [['--parent <workspace>', 'the parent workspace, by slug, name or id']],
        async call({ baton, args: [slug = '', name = ''], options: { parent } }) {
          const parentId = typeof parent === 'string' ? await findWorkspaceId(baton, parent) : undefined;
          return baton.workspaces.create({ slug, name, ...(parentId !== undefined && { parentId }) });
        },
        says: ({ id, slug }) => `Created the workspace ${String(slug)}: ${String(id)}.`,
      },
    ],
  },
  {
    noun: 'goal',
    summary: 'goals of tasks',
    list: {
      operation: 'listGoals',
      columns: defineColumns<Goal>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['WORKSPACE', 'workspaceId'],
        ['TITLE', 'title'],
      ),
      filters: [
        ['--status <status>', 'active, achieved or abandoned'],
        ['--workspace-id <workspace>', 'of this workspace, by slug, name or id', findWorkspaceId],
      ],
      call: ({ baton }, query) => baton.goals.list(query),
    },
    view: {
      argument: 'goal',
      operation: 'getGoal',
      call: async ({ baton, args: [name = ''] }) => baton.goals.get(await findGoalId(baton, name)),
    },
  },
  {
    noun: 'rule',
    summary: 'work rules',
    list: {
      operation: 'listRules',
      columns: defineColumns<Rule>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['KEY', 'key'],
        ['DESCRIPTION', 'description'],
      ),
      filters: [['--status <status>', 'enabled, disabled or archived']],
      call: ({ baton }, query) => baton.rules.list(query),
    },
    view: {
      argument: 'rule',
      operation: 'getRule',
      call: async ({ baton, args: [name = ''] }) => baton.rules.get(await findRuleId(baton, name)),
    },
  },
  {
    noun: 'task-type',
    summary: 'task types',
    list: {
      operation: 'listTaskTypes',
      columns: defineColumns<TaskType>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['KEY', 'key'],
        ['VERSION', 'version'],
        ['NAME', 'displayName'],
      ),
      filters: [
        ['--key <key>', 'versions of this type'],
        ['--status <status>', 'active or deprecated'],
      ],
      call: ({ baton }, query) => baton.taskTypes.list(query),
    },
    view: {
      argument: 'type',
      operation: 'getTaskType',
      call: async ({ baton, args: [name = ''] }) => baton.taskTypes.get(await findTaskTypeId(baton, name)),
    },
  },
  {
    noun: 'role',
    summary: 'roles of principals',
    list: {
      operation: 'listRoles',
      columns: defineColumns<Role>(
        ['ID', 'id'],
        ['SLUG', 'slug'],
        ['WORKSPACE', 'workspaceId'],
        ['NAME', 'name'],
      ),
      filters: [['--workspace-id <workspace>', 'of this workspace, by slug, name or id', findWorkspaceId]],
      call: ({ baton }, query) => baton.roles.list(query),
    },
    view: {
      argument: 'role',
      operation: 'getRole',
      call: async ({ baton, args: [name = ''] }) => baton.roles.get(await findRoleId(baton, name)),
    },
  },
  {
    noun: 'session',
    summary: 'sessions in which people and agents work',
    list: {
      operation: 'listSessions',
      columns: defineColumns<Session>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['PRINCIPAL', 'principalId'],
        ['HEARTBEAT', 'heartbeatAt'],
        ['CLIENT', 'clientName'],
      ),
      filters: [['--status <status>', 'active, stale or closed']],
      call: ({ baton }, query) => baton.sessions.list(query),
    },
    view: {
      argument: 'id',
      operation: 'getSession',
      call: ({ baton, args: [id = ''] }) => baton.sessions.get(id),
    },
  },
];
