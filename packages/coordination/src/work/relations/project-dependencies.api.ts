import { idParams } from '@baton/values/keys';
import { QueryFlag } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { getProjectDependencies, ProjectDependencies } from './project-dependencies.ts';

export const projectDependenciesApi = [
  endpoint({
    id: 'getProjectDependencies',
    method: 'GET',
    path: '/projects/{id}/dependencies',
    summary: 'List the tasks of a project that depend on each other, with the critical path.',
    description: 'Also needs tasks.read.',
    permission: 'projects.read',
    alsoOneOf: ['tasks.read'],
    params: idParams,
    query: { includeSubprojects: QueryFlag.optional() },
    isList: true,
    returns: { 200: ProjectDependencies },
    errors: ['not_found'],
    handle: ({ params, query }, context) =>
      getProjectDependencies(context, params.id, query.includeSubprojects ?? false),
  }),
];
