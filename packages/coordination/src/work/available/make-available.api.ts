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
      'Ends the count of failed attempts in a row, too. A `startDate` in the future and a blocked status still hold the task back: change those by PATCH. Without a pause it changes nothing.',
    permission: 'tasks.write',
    params: { ref: TaskRef },
    returns: { 200: Task },
    errors: ['not_found', 'not_eligible'],
    emits: [taskMadeAvailable],
    etag: 'task',
    handle: ({ params }, context) => makeTaskAvailable(context, params.ref),
  }),
];
