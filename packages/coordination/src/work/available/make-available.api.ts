import { endpoint } from '../context.ts';
import { Task } from '../tasks/task.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { taskMadeAvailable } from './make-available.events.ts';
import { makeTaskAvailable } from './make-available.ts';

export const makeAvailableApi = [
  endpoint({
    id: 'makeTaskAvailable',
    method: 'POST',
    path: '/tasks/{ref}:make-available',
    summary: 'End the pause of a task after failed attempts.',
    description:
      'Also resets the count of consecutive failed attempts. A future `startDate` and a blocked status still apply: ' +
      'change them with PATCH. Without a pause, nothing changes.',
    permission: 'tasks.write',
    params: { ref: TaskRef },
    returns: { 200: Task },
    errors: ['not_found', 'not_eligible'],
    emits: [taskMadeAvailable],
    etag: 'task',
    handle: ({ params }, context) => makeTaskAvailable(context, params.ref),
  }),
];
