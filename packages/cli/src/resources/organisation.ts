import type { Goal, Role, Rule, Session, TaskType, Workspace } from '@baton/sdk';
import { columnsOf, type Resource } from './resource.ts';

/** Where work belongs, what kinds of it there are, and who is at it: lists and views. */
export const organisationResources: readonly Resource[] = [
  {
    noun: 'workspace',
    summary: 'workspaces',
    list: {
      columns: columnsOf<Workspace>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['SLUG', 'slug'],
        ['ABOVE', 'parentId'],
        ['NAME', 'name'],
      ),
      filters: [
        ['--status <status>', 'active or archived'],
        ['--parent-id <id>', 'right below this one'],
      ],
      call: ({ baton }, query) => baton.workspaces.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.workspaces.get(id) },
    acts: [
      {
        usage: 'create <slug> <name>',
        summary: 'make a workspace',
        options: [['--parent <id>', 'the one above it']],
        call: ({ baton, args: [slug = '', name = ''], options }) =>
          baton.workspaces.create({
            slug,
            name,
            ...(typeof options['parent'] === 'string' && { parentId: options['parent'] }),
          }),
        says: ({ id, slug }) => `Workspace ${String(slug)} is made: ${String(id)}.`,
      },
    ],
  },
  {
    noun: 'goal',
    summary: 'goals that tasks belong to',
    list: {
      columns: columnsOf<Goal>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['WORKSPACE', 'workspaceId'],
        ['TITLE', 'title'],
      ),
      filters: [
        ['--status <status>', 'active, achieved or abandoned'],
        ['--workspace-id <id>', 'of this workspace'],
      ],
      call: ({ baton }, query) => baton.goals.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.goals.get(id) },
  },
  {
    noun: 'rule',
    summary: 'work rules',
    list: {
      columns: columnsOf<Rule>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['KEY', 'key'],
        ['DESCRIPTION', 'description'],
      ),
      filters: [['--status <status>', 'enabled, disabled or archived']],
      call: ({ baton }, query) => baton.rules.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.rules.get(id) },
  },
  {
    noun: 'task-type',
    summary: 'types of tasks',
    list: {
      columns: columnsOf<TaskType>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['KEY', 'key'],
        ['VERSION', 'version'],
        ['NAME', 'displayName'],
      ),
      filters: [
        ['--key <key>', 'versions of this one'],
        ['--status <status>', 'active or deprecated'],
      ],
      call: ({ baton }, query) => baton.taskTypes.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.taskTypes.get(id) },
  },
  {
    noun: 'role',
    summary: 'roles that principals have',
    list: {
      columns: columnsOf<Role>(
        ['ID', 'id'],
        ['SLUG', 'slug'],
        ['WORKSPACE', 'workspaceId'],
        ['NAME', 'name'],
      ),
      filters: [['--workspace-id <id>', 'of this workspace']],
      call: ({ baton }, query) => baton.roles.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.roles.get(id) },
  },
  {
    noun: 'session',
    summary: 'sessions in which people and agents work',
    list: {
      columns: columnsOf<Session>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['PRINCIPAL', 'principalId'],
        ['HEARTBEAT', 'heartbeatAt'],
        ['CLIENT', 'clientName'],
      ),
      filters: [['--status <status>', 'active, stale or closed']],
      call: ({ baton }, query) => baton.sessions.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.sessions.get(id) },
  },
];
