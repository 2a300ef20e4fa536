import { endpoint } from '../context.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { getTaskClaimability } from './claimability.ts';
import { getTaskRequirements, listTaskTransitions } from './readiness.ts';
import { TaskClaimability, TaskRequirements, TaskTransitions } from './task-readiness.ts';

const params = { ref: TaskRef };

export const readinessApi = [
  endpoint({
    id: 'listTaskTransitions',
    method: 'GET',
    path: '/tasks/{ref}/transitions',
    summary: 'List the transitions of a task from its status, with the call for each.',
    permission: 'tasks.read',
    params,
    returns: { 200: TaskTransitions },
    errors: ['not_found'],
    handle: (input, context) => listTaskTransitions(context, input.params.ref),
  }),
  endpoint({
    id: 'getTaskClaimability',
    method: 'GET',
    path: '/tasks/{ref}/claimability',
    summary: 'Check whether a task can be claimed now, and list all obstacles.',
    description:
      'For prerequisites in workspaces that the caller can’t see, `blockedOutOfSight` gives only the number.',
    permission: 'tasks.read',
    params,
    returns: { 200: TaskClaimability },
    errors: ['not_found'],
    handle: (input, context) => getTaskClaimability(context, input.params.ref),
  }),
  endpoint({
    id: 'getTaskRequirements',
    method: 'GET',
    path: '/tasks/{ref}/requirements',
    summary: 'List the roles, capabilities and skills that an executor of the task must have.',
    permission: 'tasks.read',
    params,
    returns: { 200: TaskRequirements },
    errors: ['not_found'],
    handle: (input, context) => getTaskRequirements(context, input.params.ref),
  }),
];
