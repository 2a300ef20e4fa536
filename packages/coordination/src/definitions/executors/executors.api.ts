import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { TaskTypeExecutor } from './executor.ts';
import { listTaskTypeExecutors } from './executors.ts';

export const executorsApi = [
  endpoint({
    id: 'listTaskTypeExecutors',
    method: 'GET',
    path: '/task-types/{id}/executors',
    summary: 'List the principals that can be assigned tasks of a type in a workspace, newest first.',
    description:
      'These are the active members of the workspace, and the running registered agents that are linked to an identity ' +
      'and whose `work` covers the workspace and the type. In `work`, a workspace covers only itself; a project covers ' +
      'its workspaces, with `includeSubprojects` also those of projects below; without either, it covers the whole ' +
      'tenant.',
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
