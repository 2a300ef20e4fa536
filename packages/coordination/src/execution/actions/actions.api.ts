import { pageOf, Uuid } from '@baton/values/wire';
import { claimGateEvents } from '../../leases/gate.ts';
import { endpoint } from '../context.ts';
import { journalList } from '../runs/journal-page.ts';
import { liveRunErrors } from '../runs/live-run.ts';
import { Action, ActionRequest, ActionResult } from './action.ts';
import { createAction, finishAction, listActions } from './actions.ts';

const params = { id: Uuid };
const documentErrors = ['invalid_document', 'payload_too_large', 'payload_too_deep'] as const;

export const actionsApi = [
  endpoint({
    id: 'createRunAction',
    method: 'POST',
    path: '/runs/{id}/actions',
    summary: 'Record an action of a run and its usage.',
    description:
      'Requires the live claim of the run. `seq` counts from 1 without gaps. `metadata.capabilityMismatch` is set ' +
      'by the ' +
      "service: the protocol of the action's skill, if its session listed other protocols as `skills.protocol.*`.",
    permission: 'tasks.claim',
    params,
    body: ActionRequest,
    returns: { 201: Action },
    errors: [
      'invalid_action',
      'invalid_status',
      ...documentErrors,
      ...liveRunErrors,
      'child_grant_exceeded',
      'budget_exceeded',
      'run_cancel_requested',
      'tool_not_authorized',
    ],
    emits: claimGateEvents,
    example: { action: 'run the tests', usage: { inputTokens: 1200, outputTokens: 300, costMicros: 4500 } },
    handle: (input, context) => createAction(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'listRunActions',
    ...journalList,
    path: '/runs/{id}/actions',
    summary: 'List the actions of a run, oldest first.',
    description:
      'Without `limit` and `cursor`, returns the whole list. If it exceeds 10,000 entries or 4 MiB, returns its ' +
      'beginning and a cursor for the rest.',
    permission: ['tasks.read', 'tasks.claim'],
    returns: { 200: pageOf(Action) },
    handle: (input, context) => listActions(context, input.params.id, input.query),
  }),
  endpoint({
    id: 'finishRunAction',
    method: 'POST',
    path: '/runs/{id}/actions/{aid}:finish',
    summary: 'Finish a started action.',
    description: "Requires the live claim of the run. Metadata and usage are added to the action's own.",
    permission: 'tasks.claim',
    params: { ...params, aid: Uuid },
    body: ActionResult,
    returns: { 200: Action },
    errors: [
      'invalid_action',
      'invalid_status',
      ...documentErrors,
      ...liveRunErrors,
      'action_already_finished',
    ],
    emits: claimGateEvents,
    example: { status: 'completed', externalReference: 'ci/build/4711' },
    handle: (input, context) => finishAction(context, input.params.id, input.params.aid, input.body),
  }),
];
