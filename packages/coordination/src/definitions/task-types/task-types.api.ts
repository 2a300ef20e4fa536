import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { PackageFilter } from '../../organisation/package-link.ts';
import { endpoint } from '../context.ts';
import { NewTaskType, TaskType } from './task-type.ts';
import { taskTypeCreated, taskTypeDeprecated } from './task-types.events.ts';
import { createTaskType, deprecateTaskType, getTaskType, listTaskTypes } from './task-types.ts';

export const taskTypesApi = [
  endpoint({
    id: 'createTaskType',
    method: 'POST',
    path: '/task-types',
    summary: 'Create the next version of a task type.',
    description:
      'Versions never change. Without a lifecycle, the type gets that of the built-in type `task`. A skill in ' +
      '`execution` ' +
      "that can't be used is refused with `invalid_task_execution` and a `reason`: not_found, disabled or " +
      'no_contract. ' +
      'No skill can be called yet.',
    permission: 'task_types.manage',
    body: NewTaskType,
    returns: { 201: TaskType },
    errors: [
      'invalid_task_execution',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'invalid_json_schema',
      'secret_material_rejected',
      'invalid_lifecycle_schema',
      'invalid_approval_schema',
      'invalid_context_schema',
      'invalid_completion_schema',
      'invalid_artifact_schema',
      'unknown_artifact_type',
      'invalid_acceptance',
      'invalid_acceptance_spec',
      'duplicate_check_key',
    ],
    emits: [taskTypeCreated],
    example: {
      key: 'release',
      displayName: 'Release',
      fieldSchema: {
        properties: { version: { type: 'string', pattern: '^[0-9.]+$' } },
        required: ['version'],
      },
      lifecycleSchema: {
        statuses: [
          { key: 'planned', category: 'backlog' },
          { key: 'building', category: 'active', displayName: 'Being built' },
          { key: 'shipped', category: 'terminal_success' },
        ],
        initialStatus: 'planned',
        transitions: [
          { from: 'planned', to: ['building'] },
          { from: 'building', to: ['planned', 'shipped'] },
        ],
        claimStatus: 'building',
        releaseStatus: 'planned',
      },
      instructions: 'Build the tag, then publish it.',
    },
    handle: ({ body }, context) => createTaskType(context, body),
  }),
  endpoint({
    id: 'listTaskTypes',
    method: 'GET',
    path: '/task-types',
    summary: 'List task types, newest first.',
    permission: 'task_types.read',
    query: { key: QueryWord.optional(), status: QueryWord.optional(), package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(TaskType) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listTaskTypes(context, query, page),
  }),
  endpoint({
    id: 'getTaskType',
    method: 'GET',
    path: '/task-types/{id}',
    summary: 'Read a task type.',
    permission: 'task_types.read',
    params: { id: Uuid },
    returns: { 200: TaskType },
    errors: ['not_found'],
    handle: ({ params }, context) => getTaskType(context, params.id),
  }),
  endpoint({
    id: 'deprecateTaskType',
    method: 'POST',
    path: '/task-types/{id}:deprecate',
    summary: 'Deprecate a version of a task type: new tasks only use it if they specify it.',
    permission: 'task_types.manage',
    params: { id: Uuid },
    returns: { 200: TaskType },
    errors: ['not_found', 'system_task_type_required'],
    emits: [taskTypeDeprecated],
    handle: ({ params }, context) => deprecateTaskType(context, params.id),
  }),
];
