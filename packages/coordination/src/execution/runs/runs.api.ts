import { z } from 'zod';
import { freeObjectOf, pageOf, QueryFlag, QueryWord, Uuid } from '@baton/values/wire';
import { childResolved, childStarted } from '../../leases/children/children.events.ts';
import { claimReleased, runFailed, sessionClosed } from '../../leases/leases.events.ts';
import { documentBytesMax } from '../../service/documents.ts';
import { commentAdded } from '../../work/comments/comments.events.ts';
import { completionEvents } from '../../work/completion/completion.events.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { verificationStarted } from '../../work/verifications/attempts.events.ts';
import { endpoint } from '../context.ts';
import { attemptsExhausted, retryScheduled } from '../retries/retries.events.ts';
import { cancelRun, failRun, succeedRun } from './end-run.ts';
import { Run, RunRequest, SucceededRun } from './run.ts';
import { runCancelled, runStarted, runSucceeded } from './runs.events.ts';
import { getRun, listRuns } from './runs.ts';
import { startRun } from './start-run.ts';

const params = { id: Uuid };
const retryAfterSecondsMax = 604_800;
const exampleId = '0190b2c4-0000-7000-8000-000000000001';

export const runsApi = [
  endpoint({
    id: 'startRun',
    method: 'POST',
    path: '/tasks/{ref}:start-run',
    summary: 'Start an attempt to execute a claimed task.',
    permission: 'tasks.claim',
    params: { ref: TaskRef },
    body: RunRequest,
    returns: { 201: Run },
    errors: [
      'invalid_budget',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'agent_revision_required',
      'agent_revision_mismatch',
      'not_found',
      'task_not_runnable',
      'stale_claim',
      'claim_holder_mismatch',
      'not_eligible',
      'run_already_active',
      'child_handle_revoked',
      'child_handle_expired',
      'child_grant_exceeded',
      'child_run_already_bound',
    ],
    emits: [runFailed, runStarted, claimReleased, sessionClosed, childStarted],
    transaction: 'statement',
    example: { claimId: exampleId, fencingToken: 1, maxDurationSeconds: 3600 },
    handle: (input, context) => startRun(context, input.params.ref, input.body),
  }),
  endpoint({
    id: 'listRuns',
    method: 'GET',
    path: '/runs',
    summary: 'List runs, newest first.',
    permission: 'tasks.read',
    query: {
      taskId: Uuid.optional(),
      claimId: Uuid.optional(),
      principalId: Uuid.optional(),
      agentKey: QueryWord.optional(),
      status: QueryWord.optional(),
      stalled: QueryFlag.optional().describe(
        'With `true`, only running runs without progress for longer than the `progressTimeoutSeconds` of their task ' +
          'type.',
      ),
    },
    paging: true,
    returns: { 200: pageOf(Run) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listRuns(context, query, page),
  }),
  endpoint({
    id: 'getRun',
    method: 'GET',
    path: '/runs/{id}',
    summary: 'Read a run.',
    permission: 'tasks.read',
    params,
    returns: { 200: Run },
    errors: ['not_found'],
    handle: (input, context) => getRun(context, input.params.id),
  }),
  endpoint({
    id: 'succeedRun',
    method: 'POST',
    path: '/runs/{id}:succeed',
    summary: 'End a run as succeeded, and complete its task.',
    description: 'With `completeTask` false, the task stays claimed. Requires the live claim of the run.',
    permission: 'tasks.claim',
    params,
    body: z
      .strictObject({
        output: freeObjectOf(documentBytesMax).nullish(),
        completeTask: z.boolean().default(true),
      })
      .meta({ id: 'RunSuccess' }),
    bodyOptional: true,
    returns: { 200: SucceededRun },
    errors: [
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'not_found',
      'run_not_active',
      'run_holder_mismatch',
      'task_already_completed',
      'task_cancelled',
      'approval_required',
      'stale_claim',
      'not_eligible',
      'child_result_too_large',
      'unsafe_child_result',
      'secret_material_rejected',
      'non_canonical_value',
      'custom_fields_invalid',
      'invalid_transition',
    ],
    emits: [
      runSucceeded,
      childResolved,
      claimReleased,
      ...completionEvents,
      sessionClosed,
      verificationStarted,
    ],
    example: { output: { tests: 'green' } },
    handle: (input, context) => succeedRun(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'failRun',
    method: 'POST',
    path: '/runs/{id}:fail',
    summary: 'End a run as failed.',
    description:
      "For its principal, or with `claims.manage`. It requires no live claim and doesn't change the claim. If its " +
      "claim is the task's latest, the failure counts: the task is paused as its type's `execution.retry` specifies, " +
      'for at least `retryAfterSeconds`. After the last attempt, the task moves to a blocked status. To return a ' +
      'task without counting a failure, cancel the run.',
    permission: ['tasks.claim', 'claims.manage'],
    params,
    body: z
      .strictObject({
        failureReason: z.string().min(1).max(2000).default('failed').meta({
          description: 'The text before the first colon is the code that `execution.retry.retryOn` lists.',
        }),
        output: freeObjectOf(documentBytesMax).nullish(),
        retryAfterSeconds: z.int().min(0).max(retryAfterSecondsMax).nullish().meta({
          description: "The task is unavailable and can't be claimed during this time; 7 days at most.",
        }),
      })
      .meta({ id: 'RunFailure' }),
    bodyOptional: true,
    returns: { 200: Run },
    errors: [
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'not_found',
      'run_holder_mismatch',
      'run_not_active',
    ],
    emits: [runFailed, retryScheduled, attemptsExhausted, commentAdded, childResolved],
    example: { failureReason: 'rate_limited: 429 from the provider', retryAfterSeconds: 120 },
    handle: (input, context) => failRun(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'cancelRun',
    method: 'POST',
    path: '/runs/{id}:cancel',
    summary: 'End a run as cancelled.',
    description:
      "For its principal, or with `claims.manage`. It requires no live claim and doesn't change the claim or the task.",
    permission: ['tasks.claim', 'claims.manage'],
    params,
    body: z
      .strictObject({ reason: z.string().min(1).max(500).default('cancelled') })
      .meta({ id: 'RunCancellation' }),
    bodyOptional: true,
    returns: { 200: Run },
    errors: ['not_found', 'run_holder_mismatch', 'run_not_active'],
    emits: [runCancelled, childResolved],
    example: { reason: 'no longer needed' },
    handle: (input, context) => cancelRun(context, input.params.id, input.body.reason),
  }),
];
