import { QueryFlag, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../context.ts';
import { Task } from '../tasks/task.ts';
import { findAvailableWork } from './available.ts';

const available = endpoint({
  id: 'listAvailableWork',
  method: 'GET',
  path: '/work/available',
  summary: 'List the tasks that the caller could claim now: the most urgent first, then the oldest.',
  description: 'Advisory: whether a task is granted is decided by :claim.',
  permission: 'tasks.read',
  query: {
    workspaceId: Uuid.optional(),
    includeDescendants: QueryFlag.optional(),
    projectId: Uuid.optional(),
    includeSubprojects: QueryFlag.optional(),
    assigneeId: Uuid.optional(),
    assignedToMe: QueryFlag.optional().describe('Overrides assigneeId.'),
  },
  paging: true,
  returns: { 200: z.strictObject({ items: z.array(Task), nextCursor: z.string().nullable() }) },
  errors: ['not_found', 'invalid_cursor'],
  handle: ({ query, page }, context) => findAvailableWork(context, query, page),
});

export const workApi = [available];
