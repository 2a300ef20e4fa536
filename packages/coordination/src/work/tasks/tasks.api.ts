import { childResolved } from '../../leases/children/children.events.ts';
import { claimGateEvents } from '../../leases/gate.ts';
import { runFailed } from '../../leases/leases.events.ts';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { approvalRequested } from '../gates/gates.events.ts';
import { taskMentioned } from './mentions/mentions.events.ts';
import { NewTask, Task, TaskChange } from './task.ts';
import { nullableFields, updateOwnTask } from './task-changes.ts';
import { TaskRef } from './task-ref.ts';
import { taskCreated, taskRelationAdded, taskUpdated } from './tasks.events.ts';
import { createOwnTask, getTask } from './tasks.ts';

export const tasksApi = [
  endpoint({
    id: 'createTask',
    method: 'POST',
    path: '/tasks',
    summary: 'Create a task.',
    description: 'A `parentTask` with 1,000 relations accepts no more: `invalid_relation`.',
    permission: 'tasks.write',
    body: NewTask,
    returns: { 201: Task },
    errors: [
      'invalid_title',
      'invalid_priority',
      'not_found',
      'status_not_in_lifecycle',
      'invalid_status',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'custom_fields_invalid',
      'secret_material_rejected',
      'invalid_planned_dates',
      'unknown_agent',
      'workspace_archived',
      'task_type_not_allowed',
      'invalid_acceptance',
      'invalid_acceptance_spec',
      'duplicate_check_key',
      'invalid_evidence',
      'duplicate_evidence',
      'unknown_acceptance_check',
      'invalid_origin',
      'goal_abandoned',
      'invalid_requirement',
      'unknown_requirement',
      'invalid_relation',
    ],
    emits: [taskCreated, taskRelationAdded, taskMentioned],
    etag: 'task',
    example: { title: 'Fix the flaky login test', description: 'It fails on Mondays.', priority: 'high' },
    handle: ({ body }, context) => createOwnTask(context, body),
  }),
  endpoint({
    id: 'getTask',
    method: 'GET',
    path: '/tasks/{ref}',
    summary: 'Read a task.',
    permission: 'tasks.read',
    params: { ref: TaskRef },
    returns: { 200: Task },
    errors: ['not_found'],
    etag: 'task',
    handle: ({ params }, context) => getTask(context, params.ref),
  }),
  endpoint({
    id: 'updateTask',
    method: 'PATCH',
    path: '/tasks/{ref}',
    summary: 'Change a task.',
    description:
      'The holder of the live claim presents claimId and fencingToken. Unchanged values have no effect. A ' +
      'change to title, description or acceptance, or to a custom field that the outcome of an approved gate reads ' +
      'renews the ' +
      'approval request, unless the caller may decide it. Only the author of a check or a requirement, or a person, ' +
      'can remove or ' +
      'change it or clear a field that its condition reads; a principal that worked on the task never can.',
    permission: 'tasks.write',
    params: { ref: TaskRef },
    body: TaskChange,
    returns: { 200: Task },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      'stale_claim',
      'task_claimed',
      'claim_holder_mismatch',
      'invalid_title',
      'invalid_priority',
      'status_not_in_lifecycle',
      'invalid_status',
      'invalid_transition',
      'unknown_agent',
      'workspace_archived',
      'task_type_not_allowed',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'custom_fields_invalid',
      'secret_material_rejected',
      'invalid_planned_dates',
      'goal_abandoned',
      'goal_workspace_mismatch',
      'invalid_acceptance',
      'invalid_acceptance_spec',
      'duplicate_check_key',
      'acceptance_protected',
      'invalid_evidence',
      'duplicate_evidence',
      'unknown_acceptance_check',
      'invalid_requirement',
      'unknown_requirement',
      'empty_update',
      'not_eligible',
    ],
    emits: [taskUpdated, approvalRequested, runFailed, childResolved, taskMentioned, ...claimGateEvents],
    ifMatch: 'task',
    etag: 'task',
    example: { title: 'Fix the flaky login test on Mondays', priority: 'critical' },
    precheck: ({ body }) => refuseNulls(body, nullableFields),
    handle: ({ params, body, ifMatch }, context) => updateOwnTask(context, params.ref, ifMatch, body),
  }),
];
