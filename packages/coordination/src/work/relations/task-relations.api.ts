import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { taskRelationAdded } from '../tasks/tasks.events.ts';
import { TaskRelation, TaskRelationRequest } from './task-relation.ts';
import { taskRelationRemoved } from './task-relations.events.ts';
import { createTaskRelation, deleteTaskRelation, listTaskRelations } from './task-relations.ts';

const add = endpoint({
  id: 'createTaskRelation',
  method: 'POST',
  path: '/tasks/{ref}/relations',
  summary: 'Add a relation between two tasks.',
  description:
    'parent: this is a child of the other. blocks: this must end before the other. depends_on: this waits for the ' +
    'other. spawned_by: this originates from the other; $.spawnedBy reads the first such relation. related_to: for ' +
    'information only. A task has at most 1,000 relations in both directions together; ' +
    'a further one at either end is refused with `invalid_relation` and `maxRelations`.',
  permission: 'tasks.write',
  params: { ref: TaskRef },
  body: TaskRelationRequest,
  returns: { 201: TaskRelation },
  errors: ['invalid_relation_type', 'not_found', 'invalid_relation', 'relation_exists', 'dependency_cycle'],
  emits: [taskRelationAdded],
  example: { toTask: 'TASK-000042', type: 'depends_on' },
  handle: ({ params, body }, context) => createTaskRelation(context, params.ref, body),
});

const list = endpoint({
  id: 'listTaskRelations',
  method: 'GET',
  path: '/tasks/{ref}/relations',
  summary: 'List the relations of a task in both directions, oldest first.',
  description:
    'Returns the whole list, without pages: a task has at most 1,000. Relations to tasks that the caller can’t see ' +
    'are excluded.',
  permission: 'tasks.read',
  params: { ref: TaskRef },
  returns: { 200: pageOf(TaskRelation) },
  errors: ['not_found'],
  handle: async ({ params }, context) => ({
    items: await listTaskRelations(context, params.ref),
    nextCursor: null,
  }),
});

const remove = endpoint({
  id: 'deleteTaskRelation',
  method: 'DELETE',
  path: '/tasks/{ref}/relations/{id}',
  summary: 'Remove a relation of a task, in either direction.',
  description:
    'spawned_by requires task_types.manage, because checks depend on it. blocks and depends_on can be ' +
    'removed by their author or by a person, but never by a principal that works on the waiting task or had a run ' +
    'of it.',
  permission: 'tasks.write',
  params: { ref: TaskRef, id: Uuid },
  returns: { 204: null },
  errors: ['not_found', 'permission_denied', 'acceptance_protected'],
  emits: [taskRelationRemoved],
  handle: ({ params }, context) => deleteTaskRelation(context, params.ref, params.id),
});

export const taskRelationsApi = [add, list, remove];
