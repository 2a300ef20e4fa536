import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { childResolved } from '../../leases/children/children.events.ts';
import { claimGateEvents } from '../../leases/gate.ts';
import { runFailed } from '../../leases/leases.events.ts';
import { endpoint } from '../context.ts';
import { Task } from '../tasks/task.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { verificationStarted } from '../verifications/attempts.events.ts';
import { completionEvents } from './completion.events.ts';
import { completeTask } from './completion.ts';
import { TaskForm } from './task-form.ts';
import { getTaskForm } from './task-forms.ts';

export const completionApi = [
  endpoint({
    id: 'completeTask',
    method: 'POST',
    path: '/tasks/{ref}:complete',
    summary: 'Complete a task.',
    description:
      'A task with checks keeps its status until a verification attempt has passed; a second call returns the task ' +
      'unchanged. ' +
      'A task of a process step with a form can only be completed while its custom fields satisfy the form ' +
      '(`/tasks/{ref}/form`).',
    permission: 'tasks.write',
    params: { ref: TaskRef },
    body: z
      .strictObject({ claimId: Uuid.nullish(), fencingToken: z.int().nullish() })
      .meta({ id: 'TaskCompletion' }),
    bodyOptional: true,
    returns: { 200: Task },
    errors: [
      'not_found',
      'version_conflict',
      'task_already_completed',
      'task_cancelled',
      'approval_required',
      'stale_claim',
      'task_claimed',
      'claim_holder_mismatch',
      'not_eligible',
      'run_in_progress',
      'custom_fields_invalid',
      'invalid_transition',
    ],
    emits: [runFailed, childResolved, ...claimGateEvents, ...completionEvents, verificationStarted],
    ifMatch: 'task',
    etag: 'task',
    example: {},
    handle: ({ params, body, ifMatch }, context) =>
      completeTask(context, params.ref, ifMatch, {
        claimId: body.claimId ?? undefined,
        fencingToken: body.fencingToken ?? undefined,
      }),
  }),
  endpoint({
    id: 'getTaskForm',
    method: 'GET',
    path: '/tasks/{ref}/form',
    summary: 'Get the form of the process step that a task belongs to.',
    description:
      "The answers are custom fields of the task. A completion with answers that don't match the form is refused " +
      'with ' +
      '`custom_fields_invalid`. For a task that was not created by a process, `process` and `form` are null.',
    permission: 'tasks.read',
    params: { ref: TaskRef },
    returns: { 200: TaskForm },
    errors: ['not_found'],
    handle: ({ params }, context) => getTaskForm(context, params.ref),
  }),
];
