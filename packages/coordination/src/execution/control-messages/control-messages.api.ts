import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { childResolved, childRevoked } from '../../leases/children/children.events.ts';
import { claimGateEvents } from '../../leases/gate.ts';
import { claimReleased } from '../../leases/leases.events.ts';
import { endpoint } from '../context.ts';
import { Run } from '../runs/run.ts';
import { runCancelled } from '../runs/runs.events.ts';
import { acknowledgeControlMessage } from './acknowledge-message.ts';
import {
  ControlMessageAcknowledgement,
  ControlMessagePage,
  ControlMessageResult,
  NewControlMessage,
} from './control-message.ts';
import {
  childCancelRequested,
  controlMessageAccepted,
  controlMessageApplied,
  controlMessageRejected,
  controlMessageSuperseded,
  runCancelRequested,
} from './control-messages.events.ts';
import { listControlMessages, requestCancel, sendControlMessage } from './control-messages.ts';

const params = { id: Uuid };
const path = '/runs/{id}/control-messages';
const exampleId = '0190b2c4-0000-7000-8000-000000000001';

export const controlMessagesApi = [
  endpoint({
    id: 'sendControlMessage',
    method: 'POST',
    path,
    summary: 'Send a control message to a running run.',
    description:
      'For its principal, or with `claims.manage`. Its executor handles `queue`, `steer`, `redirect` and ' +
      '`request_cancel` messages in order; `force_cancel` ends the run immediately, and every run below it: those ' +
      'that it launched, and with `claims.manage` also those whose tasks are only related by `spawned_by`. The ' +
      'worker ends those that are locked.',
    permission: ['claims.manage', 'tasks.claim'],
    deniedAs: ['claims.manage'],
    params,
    body: NewControlMessage,
    returns: { 201: ControlMessageResult },
    idempotency: 'required',
    errors: [
      'invalid_control_operation',
      'invalid_control_message',
      'unsafe_control_payload',
      'secret_material_rejected',
      'not_found',
      'run_not_active',
      'run_version_conflict',
    ],
    emits: [
      controlMessageAccepted,
      runCancelRequested,
      controlMessageSuperseded,
      controlMessageApplied,
      runCancelled,
      claimReleased,
      childResolved,
      childRevoked,
    ],
    example: {
      operation: 'steer',
      causalPosition: 'checkpoint:3',
      directive: 'Leave the login page as it is.',
      expectedRunVersion: 1,
    },
    handle: (input, context) => sendControlMessage(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'listControlMessages',
    method: 'GET',
    path,
    summary: 'List the control messages of a run, oldest first.',
    description: 'The cursor of the last page can be reused to read later messages.',
    permission: 'tasks.read',
    params,
    paging: true,
    returns: { 200: ControlMessagePage },
    errors: ['invalid_cursor', 'not_found'],
    handle: (input, context) => listControlMessages(context, input.params.id, input.page),
  }),
  endpoint({
    id: 'acknowledgeControlMessage',
    method: 'POST',
    path: '/runs/{id}/control-messages/{messageId}:acknowledge',
    summary: 'Acknowledge the next control message of a run.',
    description: 'For the principal of the run, under its live claim.',
    permission: 'tasks.claim',
    params: { id: Uuid, messageId: Uuid },
    body: ControlMessageAcknowledgement,
    returns: { 200: ControlMessageResult },
    errors: [
      'invalid_control_status',
      'invalid_control_message',
      'unsafe_control_payload',
      'secret_material_rejected',
      'not_found',
      'run_not_active',
      'run_holder_mismatch',
      'stale_claim',
      'claim_holder_mismatch',
      'run_version_conflict',
      'control_message_terminal',
      'control_message_version_conflict',
      'control_message_out_of_order',
    ],
    emits: [
      controlMessageApplied,
      controlMessageRejected,
      controlMessageSuperseded,
      controlMessageAccepted,
      runCancelRequested,
      childCancelRequested,
      ...claimGateEvents,
    ],
    example: {
      status: 'applied',
      claimId: exampleId,
      fencingToken: 1,
      expectedRunVersion: 2,
      expectedMessageVersion: 1,
      safeBoundary: 'after checkpoint 4',
    },
    handle: ({ params: { id, messageId }, body }, context) =>
      acknowledgeControlMessage(context, id, messageId, body),
  }),
  endpoint({
    id: 'requestRunCancel',
    method: 'POST',
    path: '/runs/{id}:request-cancel',
    summary: 'Request that a running run stop by itself.',
    description: 'For its principal, or with `claims.manage`. Repeating the call has no effect.',
    permission: ['claims.manage', 'tasks.claim'],
    deniedAs: ['claims.manage'],
    params,
    body: z.strictObject({ reason: z.string().max(500).default('') }).meta({ id: 'RunCancelRequest' }),
    bodyOptional: true,
    returns: { 200: Run },
    errors: ['unsafe_control_payload', 'secret_material_rejected', 'not_found', 'run_not_active'],
    emits: [controlMessageAccepted, runCancelRequested],
    example: { reason: 'The customer has changed their mind.' },
    handle: (input, context) => requestCancel(context, input.params.id, input.body.reason),
  }),
];
