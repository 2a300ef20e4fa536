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
    summary: 'What a decision leads to, and how far that is.',
    description:
      "The task's type declares it. The worker does it in the name of the decider; while a task that it changes is claimed or held back, it waits.",
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
    summary: 'Have what a decision leads to tried again.',
    description:
      'For the decider, or an administrator, once it has failed or hangs. What was done before stays done; the worker tries the rest.',
    permission: 'approvals.decide',
    params,
    returns: { 200: ApprovalOutcome },
    errors: ['not_found', 'outcome_not_replayable', 'not_eligible'],
    handle: (input, context) => replayOutcome(context, input.params.id),
  }),
];
