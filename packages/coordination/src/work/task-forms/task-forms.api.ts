import { endpoint } from '../context.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { TaskForm } from './task-form.ts';
import { getTaskForm } from './task-forms.ts';

export const taskFormsApi = [
  endpoint({
    id: 'getTaskForm',
    method: 'GET',
    path: '/tasks/{ref}/form',
    summary: 'The form that the process step of a task asks to be filled in.',
    description:
      'The answers are custom fields of the task. A completion whose answers do not satisfy the form is refused with ' +
      '`custom_fields_invalid`. For a task that no process filed, `process` and `form` are null.',
    permission: 'tasks.read',
    params: { ref: TaskRef },
    returns: { 200: TaskForm },
    errors: ['not_found'],
    handle: ({ params }, context) => getTaskForm(context, params.ref),
  }),
];
