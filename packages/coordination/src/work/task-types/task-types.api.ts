import { FreeObject, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../context.ts';
import { Lifecycle } from './lifecycle.ts';
import { findTaskTypes, getTaskType, taskTypeStatuses } from './task-types.ts';

/** What a kind of task is: its statuses, its fields, what its tasks take and bring (core, section 7.1). */
export const TaskType = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  key: z.string(),
  version: z.int(),
  displayName: z.string(),
  description: z.string(),
  fieldSchema: FreeObject,
  lifecycleSchema: Lifecycle,
  execution: FreeObject.nullable(),
  approvalSchema: FreeObject,
  contextSchema: FreeObject,
  completionSchema: FreeObject,
  artifactSchema: FreeObject,
  instructions: z.string(),
  acceptance: z.array(FreeObject),
  status: z.enum(taskTypeStatuses),
  createdBy: Uuid,
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type TaskType = z.infer<typeof TaskType>;

const list = endpoint({
  id: 'listTaskTypes',
  method: 'GET',
  path: '/task-types',
  summary: 'List task types, newest first.',
  permission: 'task_types.read',
  query: { key: z.string().optional(), status: z.string().optional() },
  paging: true,
  returns: { 200: z.strictObject({ items: z.array(TaskType), nextCursor: z.string().nullable() }) },
  errors: ['invalid_status', 'invalid_cursor'],
  handle: ({ query, page }, context) => findTaskTypes(context, query, page),
});

const read = endpoint({
  id: 'getTaskType',
  method: 'GET',
  path: '/task-types/{id}',
  summary: 'Read a task type.',
  permission: 'task_types.read',
  params: { id: Uuid },
  returns: { 200: TaskType },
  errors: ['not_found'],
  handle: ({ params }, context) => getTaskType(context, params.id),
});

export const taskTypesApi = [list, read];
