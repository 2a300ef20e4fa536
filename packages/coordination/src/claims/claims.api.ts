import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../service.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { sessionClosed } from '../sessions/sessions.events.ts';
import { claimExpired, claimReleased, taskClaimed } from './claims.events.ts';
import { claimTask } from './claims.ts';

/** An exclusive, expiring lease on a task (core, section 9). `id` and `claimId` are one value. */
export const Claim = z.strictObject({
  id: Uuid,
  claimId: Uuid,
  tenantId: Uuid,
  taskId: Uuid,
  sessionId: Uuid,
  holderId: Uuid,
  status: z.enum(['active', 'released', 'stale']),
  fencingToken: z.int().positive(),
  intent: z.string(),
  acquiredAt: Timestamp,
  heartbeatAt: Timestamp,
  expiresAt: Timestamp,
  releasedAt: Timestamp.nullable(),
  releaseReason: z.string().nullable(),
});
export type Claim = z.infer<typeof Claim>;

export const ClaimRequest = z.strictObject({
  sessionId: Uuid,
  ttlSeconds: z.int().optional(),
  intent: z.string().max(500).default(''),
});

const exampleId = '0190b2c4-0000-7000-8000-000000000001';

export const claim = endpoint({
  method: 'POST',
  path: '/tasks/{ref}:claim',
  summary: 'Take an exclusive, expiring lease on a task.',
  permission: 'tasks.claim',
  params: { ref: TaskRef },
  body: ClaimRequest,
  returns: { 200: Claim },
  errors: [
    'not_found',
    'session_owner_mismatch',
    'session_not_active',
    'session_expired',
    'task_not_claimable',
    'task_not_ready',
    'task_already_claimed',
    'invalid_ttl',
  ],
  emits: [claimExpired, taskClaimed, claimReleased, sessionClosed],
  transaction: 'statement',
  example: { sessionId: exampleId, intent: 'fix the flaky test' },
  handle: ({ params, body }, context) => claimTask(context, params.ref, body),
});

export const claimsApi = [claim];
