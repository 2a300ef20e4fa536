import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { TaskTypeExecutor } from './executor.ts';
import { listTaskTypeExecutors } from './executors.ts';

export const executorsApi = [
  endpoint({
    id: 'listTaskTypeExecutors',
    method: 'GET',
    path: '/task-types/{id}/executors',
    summary: 'List who may be given tasks of a type in a workspace, newest first.',
    description:
      'These are the active members of the workspace, and running agents of the registry that are linked to an identity and whose `work` covers the workspace and the type. A workspace there is that one alone; a project is its workspaces, with `includeSubprojects` also those of projects below; neither is the whole tenant.',
    permission: 'workspaces.read',
    alsoOneOf: ['org.read', 'principals.read'],
    params: { id: Uuid },
    query: { workspaceId: Uuid },
    paging: true,
    returns: { 200: pageOf(TaskTypeExecutor) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, query, page }, context) =>
      listTaskTypeExecutors(context, params.id, query.workspaceId, page),
  }),
];
