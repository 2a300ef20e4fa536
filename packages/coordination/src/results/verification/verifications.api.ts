import { pageOf } from '@baton/values/wire';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { TaskVerification } from '../../work/verifications/attempt.ts';
import { endpoint } from '../context.ts';
import { listTaskVerifications } from './verifications.ts';

export const verificationsApi = [
  endpoint({
    id: 'listTaskVerifications',
    method: 'GET',
    path: '/tasks/{ref}/verifications',
    summary: 'List the verification attempts of a task, newest first.',
    permission: 'tasks.read',
    params: { ref: TaskRef },
    paging: true,
    returns: { 200: pageOf(TaskVerification) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listTaskVerifications(context, params.ref, page),
  }),
];
