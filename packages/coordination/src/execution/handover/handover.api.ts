import { Uuid } from '@baton/values/wire';
import { claimGateEvents } from '../../leases/gate.ts';
import { runCheckpointed } from '../checkpoints/checkpoints.events.ts';
import { endpoint } from '../context.ts';
import { liveRunErrors } from '../runs/live-run.ts';
import { runHandoffPrepared, runSuspended } from './handover.events.ts';
import { getRunContext } from './read-run-context.ts';
import { RunContext } from './run-context.ts';
import { handOffRun, suspendRun } from './suspend-run.ts';
import { HandedOffRun, HandoffRequest, SuspendedRun, SuspensionRequest } from './suspension.ts';

const params = { id: Uuid };

export const handoverApi = [
  endpoint({
    id: 'getRunContext',
    method: 'GET',
    path: '/runs/{id}/context',
    summary: 'Read the full context of a run, for its executor or its successor.',
    description:
      'Includes the newest 50 artifacts, pending approvals, child handles and checkpoints (of all attempts at the ' +
      'task, up to 1 MiB), and the open control messages. Read the journal from `eventCursor` on for later changes.',
    permission: 'tasks.read',
    params,
    returns: { 200: RunContext },
    errors: ['not_found'],
    handle: (input, context) => getRunContext(context, input.params.id),
  }),
  endpoint({
    id: 'suspendRun',
    method: 'POST',
    path: '/runs/{id}:suspend',
    summary: 'Suspend a run and release its task.',
    description:
      'Requires the live claim of the run. To continue, claim the task again and start a new run; a suspended run ' +
      "can't be resumed.",
    permission: 'tasks.claim',
    params,
    body: SuspensionRequest,
    bodyOptional: true,
    returns: { 200: SuspendedRun },
    errors: liveRunErrors,
    emits: [runSuspended, ...claimGateEvents],
    example: { reason: 'waiting_approval' },
    handle: (input, context) => suspendRun(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'handOffRun',
    method: 'POST',
    path: '/runs/{id}:handoff',
    summary: 'Hand over a run: save a last checkpoint and release its task.',
    description: 'Requires the live claim of the run. An Idempotency-Key is recommended.',
    permission: 'tasks.claim',
    params,
    body: HandoffRequest,
    returns: { 200: HandedOffRun },
    errors: [
      'invalid_handoff',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'unsafe_handoff_payload',
      'secret_material_rejected',
      ...liveRunErrors,
    ],
    emits: [runCheckpointed, runSuspended, runHandoffPrepared, ...claimGateEvents],
    example: {
      checkpoint: {
        data: { summary: 'The fix is ready; a person has to try it.', nextSteps: ['try it on a phone'] },
      },
    },
    handle: (input, context) => handOffRun(context, input.params.id, input.body),
  }),
];
