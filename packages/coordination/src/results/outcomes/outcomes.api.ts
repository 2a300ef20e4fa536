import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { ApprovalOutcome } from './outcome.ts';
import { getOutcome, replayOutcome } from './outcomes.ts';

const params = { id: Uuid };

export const outcomesApi = [
  endpoint({
    id: 'getApprovalOutcome',
    method: 'GET',
    path: '/approvals/{id}/outcome',
    summary: 'Read the outcome of a decision and its progress.',
    description:
      "The task's type declares the outcome. A worker executes it on behalf of the decider; it waits while a " +
      'task that it changes is claimed or held back.',
    permission: 'approvals.read',
    params,
    returns: { 200: ApprovalOutcome },
    errors: ['not_found'],
    handle: (input, context) => getOutcome(context, input.params.id),
  }),
  endpoint({
    id: 'replayApprovalOutcome',
    method: 'POST',
    path: '/approvals/{id}:replay-outcome',
    summary: 'Retry the outcome of a decision.',
    description:
      'For the decider, or an administrator, once the outcome has failed or is stuck. Completed actions are not ' +
      'repeated; a worker retries the others.',
    permission: 'approvals.decide',
    params,
    returns: { 200: ApprovalOutcome },
    errors: ['not_found', 'outcome_not_replayable', 'not_eligible'],
    handle: (input, context) => replayOutcome(context, input.params.id),
  }),
];
