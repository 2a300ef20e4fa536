import { InstantInput, QueryFlag, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { claimGateEvents } from '../../leases/gate.ts';
import { endpoint } from '../context.ts';
import { AcceptanceCheck, acceptanceChecksMax } from '../acceptance/acceptance.ts';
import { completeTaskOnDemand } from '../completion/completion.ts';
import { Evidence, evidenceItemsMax } from '../acceptance/evidence.ts';
import { judgedLater } from '../acceptance/judged-document.ts';
import { Origin } from './origin.ts';
import { readinessApi } from '../readiness/readiness.api.ts';
import { RequirementsInput } from './requirements.ts';
import { Task } from './task.ts';
import { findTasks } from '../task-list/task-list.ts';
import { TaskRef } from './task-ref.ts';
import { changeTask, refuseNullFields } from './task-changes.ts';
import { taskCompleted, taskCreated, taskRelationAdded, taskUpdated } from './tasks.events.ts';
import { createTask, getTask } from './tasks.ts';
import { runFailed } from '../../leases/leases.events.ts';

const title = z.string().min(1).max(500);
const status = z.string().min(1).max(64);
/** A document of which not even the shape is judged here: 422 `invalid_document` says so. */
const customFields = z.unknown().meta({ type: 'object' });
const assigneeId = z
  .union([Uuid, z.string().regex(/^agent:.{1,200}$/)], 'must be a UUID or agent:<key>')
  .meta({ description: 'A principal, or `agent:<key>` for an agent of the registry.' });
const acceptance = z.array(judgedLater(AcceptanceCheck)).max(acceptanceChecksMax);
const evidence = z.array(judgedLater(Evidence)).max(evidenceItemsMax);

export const NewTask = z.strictObject({
  title,
  description: z.string().default(''),
  priority: z.string().default('medium'),
  status: status.nullish(),
  typeId: Uuid.nullish(),
  typeKey: z.string().min(1).max(63).nullish(),
  typeVersion: z.int().min(1).max(2_147_483_647).nullish(),
  ownerId: Uuid.nullish(),
  assigneeId: assigneeId.nullish(),
  workspaceId: Uuid.nullish(),
  customFields: customFields.default({}),
  startDate: InstantInput.nullish(),
  dueDate: InstantInput.nullish(),
  parentTask: TaskRef.nullish(),
  requirements: RequirementsInput.nullish(),
  goalId: Uuid.nullish(),
  origin: judgedLater(Origin).nullish(),
  acceptance: acceptance.default([]),
  evidence: evidence.default([]),
});

/** `origin`, the type and the category are not changed by this call, so they are unknown fields here. */
export const TaskChange = z.strictObject({
  title: title.nullish(),
  description: z.string().nullish(),
  priority: z.string().nullish(),
  status: status.nullish(),
  ownerId: Uuid.nullish(),
  assigneeId: assigneeId.nullish(),
  workspaceId: Uuid.nullish(),
  customFields: customFields.optional(),
  startDate: InstantInput.nullish(),
  dueDate: InstantInput.nullish(),
  requirements: RequirementsInput.nullish(),
  goalId: Uuid.nullish(),
  acceptance: acceptance.nullish(),
  evidence: evidence.nullish(),
  claimId: Uuid.nullish(),
  fencingToken: z.int().nullish(),
});

const create = endpoint({
  id: 'createTask',
  method: 'POST',
  path: '/tasks',
  summary: 'Make a task.',
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
    'invalid_acceptance',
    'invalid_acceptance_spec',
    'duplicate_check_key',
    'invalid_evidence',
    'duplicate_evidence',
    'unknown_acceptance_check',
    'invalid_origin',
    'invalid_requirement',
    'unknown_requirement',
  ],
  emits: [taskCreated, taskRelationAdded],
  etag: 'task',
  example: { title: 'Fix the flaky login test', description: 'It fails on Mondays.', priority: 'high' },
  handle: ({ body }, context) => createTask(context, body),
});

const list = endpoint({
  id: 'listTasks',
  method: 'GET',
  path: '/tasks',
  summary: 'List tasks, newest first, or by a date with the nearest first and undated last.',
  permission: 'tasks.read',
  query: {
    status: z.string().optional(),
    systemStatusCategory: z.string().optional(),
    typeKey: z.string().optional(),
    priority: z.string().optional(),
    ownerId: Uuid.optional(),
    assigneeId: Uuid.optional(),
    workspaceId: Uuid.optional(),
    includeDescendants: QueryFlag.optional(),
    projectId: Uuid.optional(),
    includeSubprojects: QueryFlag.optional(),
    goalId: Uuid.optional(),
    startFrom: InstantInput.optional(),
    startTo: InstantInput.optional(),
    dueFrom: InstantInput.optional(),
    dueTo: InstantInput.optional(),
    sort: z.string().optional().describe('startDate or dueDate; without it the newest come first.'),
    q: z
      .string()
      .optional()
      .describe(
        'Words that each occur in the title, the description or the public id; 200 characters, 10 words.',
      ),
  },
  paging: true,
  returns: { 200: z.strictObject({ items: z.array(Task), nextCursor: z.string().nullable() }) },
  errors: [
    'invalid_status',
    'invalid_status_category',
    'invalid_priority',
    'invalid_search',
    'invalid_sort',
    'not_found',
    'invalid_cursor',
  ],
  handle: ({ query, page }, context) => findTasks(context, query, page),
});

const read = endpoint({
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
});

const change = endpoint({
  id: 'updateTask',
  method: 'PATCH',
  path: '/tasks/{ref}',
  summary: 'Change a task.',
  description:
    'Whoever holds the live claim presents claimId and fencingToken. Values that are stored already change nothing.',
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
    'invalid_document',
    'payload_too_large',
    'payload_too_deep',
    'custom_fields_invalid',
    'secret_material_rejected',
    'invalid_planned_dates',
    'invalid_acceptance',
    'invalid_acceptance_spec',
    'duplicate_check_key',
    'invalid_evidence',
    'duplicate_evidence',
    'unknown_acceptance_check',
    'invalid_requirement',
    'unknown_requirement',
    'empty_update',
  ],
  emits: [taskUpdated, runFailed, ...claimGateEvents],
  ifMatch: 'task',
  etag: 'task',
  example: { title: 'Fix the flaky login test on Mondays', priority: 'critical' },
  precheck: ({ body }) => refuseNullFields(body),
  handle: ({ params, body, ifMatch }, context) => changeTask(context, params.ref, ifMatch, body),
});

const complete = endpoint({
  id: 'completeTask',
  method: 'POST',
  path: '/tasks/{ref}:complete',
  summary: 'Complete a task.',
  permission: 'tasks.write',
  params: { ref: TaskRef },
  body: z.strictObject({ claimId: Uuid.nullish(), fencingToken: z.int().nullish() }),
  bodyOptional: true,
  returns: { 200: Task },
  errors: [
    'not_found',
    'version_conflict',
    'task_already_completed',
    'task_cancelled',
    'stale_claim',
    'task_claimed',
    'claim_holder_mismatch',
    'run_in_progress',
    'invalid_transition',
  ],
  emits: [runFailed, ...claimGateEvents, taskCompleted],
  ifMatch: 'task',
  etag: 'task',
  example: {},
  handle: ({ params, body, ifMatch }, context) =>
    completeTaskOnDemand(context, params.ref, ifMatch, {
      claimId: body.claimId ?? undefined,
      fencingToken: body.fencingToken ?? undefined,
    }),
});

export const tasksApi = [create, list, read, change, complete, ...readinessApi];
