import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../context.ts';
import { readContext } from './harness.ts';

const SessionSummary = z.strictObject({
  id: Uuid,
  status: z.enum(['active', 'stale', 'closed']),
  clientName: z.string(),
  clientVersion: z.string(),
  harnessType: z.string().nullable(),
  harnessVersion: z.string().nullable(),
  controlLevel: z.enum(['human_operated', 'connected']),
  protocolVersion: z.string().nullable(),
  harnessCapabilities: z.array(z.string()).nullable(),
  startedAt: Timestamp,
  expiresAt: Timestamp,
});

const HeldClaim = z.strictObject({
  id: Uuid,
  taskId: Uuid,
  taskPublicId: z.string(),
  taskTitle: z.string(),
  taskStatus: z.string(),
  sessionId: Uuid,
  fencingToken: z.int().positive(),
  expiresAt: Timestamp,
});

const OwnRun = z.strictObject({
  id: Uuid,
  taskId: Uuid,
  claimId: Uuid,
  sessionId: Uuid,
  status: z.enum(['running', 'suspended']),
  attempt: z.int().positive(),
  fencingToken: z.int().positive(),
  startedAt: Timestamp,
  finishedAt: Timestamp.nullable(),
  cancelRequestedAt: Timestamp.nullable(),
});

/** What a harness needs to go on after a restart (core, section 6.4). */
export const HarnessContext = z.strictObject({
  protocol: z.strictObject({ name: z.string(), supportedVersions: z.array(z.string()) }),
  tenant: z.strictObject({ id: Uuid, slug: z.string(), name: z.string() }),
  principal: z.strictObject({
    id: Uuid,
    kind: z.enum(['human', 'agent', 'service']),
    displayName: z.string(),
    status: z.enum(['active', 'paused', 'disabled']),
  }),
  session: SessionSummary.nullable(),
  activeSessions: z.array(SessionSummary),
  activeClaims: z.array(HeldClaim),
  activeRuns: z.array(OwnRun),
  suspendedRuns: z.array(OwnRun),
  roles: z.array(
    z.strictObject({ id: Uuid, slug: z.string(), name: z.string(), workspaceId: Uuid.optional() }),
  ),
  capabilities: z.array(z.strictObject({ id: Uuid, name: z.string(), description: z.string() })),
  skills: z.array(
    z.strictObject({
      id: Uuid,
      name: z.string(),
      version: z.string(),
      protocol: z.string(),
      status: z.string(),
      executable: z.boolean(),
    }),
  ),
  pendingApprovals: z.array(
    z.strictObject({
      id: Uuid,
      taskId: Uuid.optional(),
      artifactId: Uuid.optional(),
      requestedBy: Uuid,
      gate: z.string(),
      comment: z.string(),
      createdAt: Timestamp,
    }),
  ),
  eventCursor: z.string(),
  permissions: z.array(z.string()),
});
export type HarnessContext = z.infer<typeof HarnessContext>;

export const harnessApi = [
  endpoint({
    id: 'getHarnessContext',
    method: 'GET',
    path: '/harness/context',
    summary: 'Find again, after a restart, what the caller holds and where its journal goes on.',
    description:
      'A running run without a live claim among `activeClaims` is an orphan: end it with `:fail` and the reason `restart_recovery`.',
    query: { sessionId: Uuid.optional() },
    returns: { 200: HarnessContext },
    errors: ['not_found'],
    handle: ({ query }, context) => readContext(context, query.sessionId),
  }),
];
