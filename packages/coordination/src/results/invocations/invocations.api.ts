import { reply } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { invocationCancelled } from '../../leases/invocations/invocations.events.ts';
import { SkillRef } from '../../organisation/skills/skill.ts';
import { artifactCreated } from '../artifacts/artifacts.events.ts';
import { endpoint } from '../context.ts';
import {
  claimInvocation,
  completeInvocation,
  failInvocation,
  heartbeatInvocation,
} from './execute-invocation.ts';
import {
  ClaimedInvocation,
  InvocationCancel,
  InvocationClaim,
  InvocationFailure,
  InvocationHeartbeat,
  InvocationRequest,
  InvocationResult,
  SkillInvocation,
} from './invocation.ts';
import {
  invocationClaimed,
  invocationFailed,
  invocationRequested,
  invocationRetryScheduled,
  invocationSucceeded,
} from './invocations.events.ts';
import { cancelInvocation, getInvocation } from './invocations.ts';
import { invokeSkill } from './invoke-skill.ts';

const idParams = { id: Uuid };

export const invocationsApi = [
  endpoint({
    id: 'invokeSkill',
    method: 'POST',
    path: '/skills/{ref}:invoke',
    summary: 'Request a call to a skill.',
    description:
      "An executor claims the call from its queue. `idempotencyKey` identifies one of the caller's calls: repeating " +
      'the request with the same inputs returns that call with 200, even if the skill has changed. A run calls the ' +
      'skills that its principal has, and a launched run those that its handle grants. A skill with ' +
      '`external_write` needs an approved gate of the task (`approvalId`, once for each version) without an outcome ' +
      "of its own, or a run of a task whose type's `execution` pins this version (once in a run). " +
      '`requestedBy.kind` is then `principal` or `run`. Returns 429 `rate_limited` while too many calls of the ' +
      'tenant are pending.',
    permission: 'skills.invoke',
    params: { ref: SkillRef },
    body: InvocationRequest,
    bodyOptional: true,
    returns: { 201: SkillInvocation, 200: SkillInvocation },
    errors: [
      'not_found',
      'idempotency_key_reuse',
      'skill_not_invocable',
      'idempotency_key_required',
      'invalid_document',
      'payload_too_deep',
      'invalid_skill_inputs',
      'payload_too_large',
      'run_owner_mismatch',
      'run_not_active',
      'stale_claim',
      'run_id_required',
      'child_grant_exceeded',
      'permission_denied',
      'invocation_mismatch',
      'skill_permission_denied',
      'tool_not_authorized',
      'skill_side_effect_not_authorized',
      'task_terminal',
      'approval_already_used',
      'approval_required',
      'execution_already_invoked',
    ],
    emits: [invocationRequested],
    example: { inputs: { branch: 'main' }, idempotencyKey: 'build-of-main-1' },
    async handle({ params, body }, context) {
      const { isNew, invocation } = await invokeSkill(context, params.ref, body);
      return reply(isNew ? 201 : 200, invocation);
    },
  }),
  endpoint({
    id: 'claimSkillInvocation',
    method: 'POST',
    path: '/skill-invocations:claim',
    summary: 'Claim the oldest pending call that the executor can execute.',
    description:
      'Returns 204 when no call matches. The lease is `leaseSeconds`, or by default the timeout of the contract plus 30 s, ' +
      'from 10 s to 3600 s. ' +
      'A queue never delays executors of other queues. A call that has lost its basis is cancelled instead of ' +
      'returned. A person whose bindings grant `members` only gets calls of visible workspaces and of the tenant ' +
      'itself. A call that verifies a task is not offered to principals that worked on the task, nor to an agent or ' +
      'service that requested its completion; claiming it by id returns 403 `not_eligible`.',
    permission: 'skills.execute',
    body: InvocationClaim,
    returns: { 200: ClaimedInvocation, 204: null },
    errors: [
      'invalid_protocol',
      'invalid_executor_endpoint',
      'not_found',
      'session_owner_mismatch',
      'session_not_active',
      'session_expired',
      'not_eligible',
    ],
    emits: [invocationClaimed, invocationCancelled, invocationRetryScheduled, invocationFailed],
    example: { protocols: ['http'], httpOrigins: ['https://tools.example.com'] },
    async handle({ body }, context) {
      const claimed = await claimInvocation(context, body);
      return claimed === undefined ? reply(204, undefined) : reply(200, claimed);
    },
  }),
  endpoint({
    id: 'getSkillInvocation',
    method: 'GET',
    path: '/skill-invocations/{id}',
    summary: 'Read a call; for its requester, its executor, and all who execute skills.',
    permission: ['skills.invoke', 'skills.execute'],
    params: idParams,
    returns: { 200: SkillInvocation },
    errors: ['not_found'],
    handle: ({ params }, context) => getInvocation(context, params.id),
  }),
  endpoint({
    id: 'heartbeatSkillInvocation',
    method: 'POST',
    path: '/skill-invocations/{id}:heartbeat',
    summary: "Extend a call's lease.",
    description:
      'The lease ends at most twice the timeout of the contract plus 30 s after the start of the attempt.',
    permission: 'skills.execute',
    params: idParams,
    body: InvocationHeartbeat,
    returns: { 200: SkillInvocation },
    errors: ['not_found', 'stale_invocation_lease'],
    example: { fencingToken: 1 },
    handle: ({ params, body }, context) => heartbeatInvocation(context, params.id, body),
  }),
  endpoint({
    id: 'completeSkillInvocation',
    method: 'POST',
    path: '/skill-invocations/{id}:complete',
    summary: 'Complete a call with its output.',
    description:
      'An output that violates the contract also returns 200: the call has then failed with ' +
      '`output_contract_violation`, and `error.details` contains `rejectedOutput` up to 64 KiB, otherwise ' +
      '`rejectedOutputBytes`. The result of a call for a task is recorded as an artifact of type `skill_result`.',
    permission: 'skills.execute',
    params: idParams,
    body: InvocationResult,
    returns: { 200: SkillInvocation },
    errors: ['not_found', 'stale_invocation_lease', 'invalid_document'],
    emits: [artifactCreated, invocationSucceeded, invocationFailed],
    example: { fencingToken: 1, output: { passed: true }, cost: { unit: 'seconds', amount: 2.5 } },
    handle: ({ params, body }, context) => completeInvocation(context, params.id, body),
  }),
  endpoint({
    id: 'failSkillInvocation',
    method: 'POST',
    path: '/skill-invocations/{id}:fail',
    summary: 'Report that an attempt at a call failed.',
    description:
      "A retryable failure is retried after the contract's delay, up to its maximum number of attempts.",
    permission: 'skills.execute',
    params: idParams,
    body: InvocationFailure,
    returns: { 200: SkillInvocation },
    errors: [
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
      'not_found',
      'stale_invocation_lease',
    ],
    emits: [invocationRetryScheduled, invocationFailed],
    example: { fencingToken: 1, error: { code: 'unreachable', message: 'No answer.', retryable: true } },
    handle: ({ params, body }, context) => failInvocation(context, params.id, body),
  }),
  endpoint({
    id: 'cancelSkillInvocation',
    method: 'POST',
    path: '/skill-invocations/{id}:cancel',
    summary: 'Cancel a call; for its requester, and with org.manage.',
    params: idParams,
    body: InvocationCancel,
    bodyOptional: true,
    returns: { 200: SkillInvocation },
    errors: ['not_found', 'invocation_terminal'],
    emits: [invocationCancelled],
    example: { reason: 'no longer needed' },
    handle: ({ params, body }, context) => cancelInvocation(context, params.id, body.reason),
  }),
];
