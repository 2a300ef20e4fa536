import { z } from 'zod';
import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { claimExpired, claimReleased, sessionClosed } from '../../leases/leases.events.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { endpoint } from '../context.ts';
import { checkClaim } from './check-claim.ts';
import { Claim, ClaimCheck, ClaimRequest } from './claim.ts';
import { ClaimNextRequest, claimNextTasks, NextWork } from './claim-next.ts';
import { taskClaimed } from './claims.events.ts';
import { claimTask, getClaim, listClaims, reclaimTask, releaseClaim } from './claims.ts';
import { heartbeatClaim } from './heartbeat.ts';

const params = { id: Uuid };
const exampleId = '0190b2c4-0000-7000-8000-000000000001';

const sessionErrors = ['session_owner_mismatch', 'session_not_active', 'session_expired'] as const;
const taskErrors = [
  'task_not_claimable',
  'not_eligible',
  'task_not_ready',
  'input_missing',
  'approval_required',
  'verification_pending',
  'task_not_due',
  'task_already_claimed',
  'invalid_ttl',
] as const;
const claimEvents = [claimExpired, taskClaimed, claimReleased, sessionClosed];

export const claimsApi = [
  endpoint({
    id: 'claimTask',
    method: 'POST',
    path: '/tasks/{ref}:claim',
    summary: 'Take an exclusive, expiring lease on a task.',
    permission: 'tasks.claim',
    params: { ref: TaskRef },
    body: ClaimRequest,
    returns: { 200: Claim },
    errors: ['not_found', ...sessionErrors, ...taskErrors],
    emits: claimEvents,
    transaction: 'statement',
    example: { sessionId: exampleId, intent: 'fix the flaky test' },
    handle: (input, context) => claimTask(context, input.params.ref, input.body),
  }),
  endpoint({
    id: 'claimNextTasks',
    method: 'POST',
    path: '/work:claim-next',
    summary: 'Claim the next available tasks: those assigned to the caller first, then by priority and age.',
    description:
      'Tasks assigned to the caller are claimed first, then unassigned ones, and those of others only with ' +
      'includeAssigned. Concurrent callers never wait for each other and never claim the same task. Children of one ' +
      "parent are spaced one second apart, so that one parent can't fill the queue. The list is empty when no task " +
      'is available.',
    permission: 'tasks.claim',
    alsoOneOf: ['tasks.read'],
    body: ClaimNextRequest,
    returns: { 200: NextWork },
    errors: ['permission_denied', 'not_found', ...sessionErrors, 'invalid_ttl'],
    emits: claimEvents,
    example: { sessionId: exampleId, count: 10 },
    handle: ({ body }, context) => claimNextTasks(context, body),
  }),
  endpoint({
    id: 'listClaims',
    method: 'GET',
    path: '/claims',
    summary: 'List claims, newest first.',
    permission: 'tasks.read',
    query: { taskId: Uuid.optional(), sessionId: Uuid.optional(), status: QueryWord.optional() },
    paging: true,
    returns: { 200: pageOf(Claim) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listClaims(context, query, page),
  }),
  endpoint({
    id: 'getClaim',
    method: 'GET',
    path: '/claims/{id}',
    summary: 'Read a claim.',
    permission: 'tasks.read',
    params,
    returns: { 200: Claim },
    errors: ['not_found'],
    handle: (input, context) => getClaim(context, input.params.id),
  }),
  endpoint({
    id: 'heartbeatClaim',
    method: 'POST',
    path: '/claims/{id}:heartbeat',
    summary: 'Extend or shorten the lease of a claim.',
    description:
      'For its holder, or with `claims.manage`. Send a heartbeat every third of the lease. Without `ttlSeconds`, ' +
      'the lease is renewed for its original length.',
    permission: ['tasks.claim', 'claims.manage'],
    params,
    body: z.strictObject({ ttlSeconds: z.int().nullish() }).meta({ id: 'ClaimHeartbeat' }),
    bodyOptional: true,
    returns: { 200: Claim },
    errors: [
      'not_found',
      'claim_holder_mismatch',
      'claim_not_active',
      'claim_expired',
      'session_not_active',
      'invalid_ttl',
    ],
    emits: [claimReleased, sessionClosed],
    transaction: 'statement',
    example: { ttlSeconds: 300 },
    handle: (input, context) => heartbeatClaim(context, input.params.id, input.body.ttlSeconds),
  }),
  endpoint({
    id: 'checkClaim',
    method: 'POST',
    path: '/claims/{id}:check',
    summary: 'Check whether a claim and its fencing token currently protect the task.',
    description:
      'For external gateways (Git, deployments) that must reject a stale holder. `superseded` if the token is not ' +
      'that of the latest claim of the task.',
    permission: 'tasks.read',
    params,
    body: z.strictObject({ fencingToken: z.int() }).meta({ id: 'ClaimCheckRequest' }),
    returns: { 200: ClaimCheck },
    errors: ['not_found'],
    transaction: 'none',
    idempotency: 'ignored',
    example: { fencingToken: 1 },
    handle: (input, context) => checkClaim(context, input.params.id, input.body.fencingToken),
  }),
  endpoint({
    id: 'releaseClaim',
    method: 'POST',
    path: '/claims/{id}:release',
    summary: 'Release a claim.',
    description: "For its holder, or with `claims.manage`. A claim that has already ended doesn't change.",
    permission: ['tasks.claim', 'claims.manage'],
    params,
    body: z
      .strictObject({ reason: z.string().min(1).max(200).default('released') })
      .meta({ id: 'ClaimRelease' }),
    bodyOptional: true,
    returns: { 200: Claim },
    errors: ['not_found', 'claim_holder_mismatch'],
    emits: [claimReleased],
    example: { reason: 'out of budget' },
    handle: (input, context) => releaseClaim(context, input.params.id, input.body.reason),
  }),
  endpoint({
    id: 'reclaimTask',
    method: 'POST',
    path: '/claims/{id}:reclaim',
    summary: 'Take over the task of a dead claim.',
    permission: ['tasks.claim', 'claims.manage'],
    params,
    body: ClaimRequest,
    returns: { 200: Claim },
    errors: ['not_found', ...sessionErrors, 'claim_not_expired', ...taskErrors],
    emits: claimEvents,
    example: { sessionId: exampleId, intent: 'take over' },
    handle: (input, context) => reclaimTask(context, input.params.id, input.body),
  }),
];
