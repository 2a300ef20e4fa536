import { redactSecrets } from '@baton/values/secret-material';
import type { JsonObject } from '@baton/values/wire';
import { type CredentialSnapshot, isStillGranted } from '../../access/authn/credential-snapshot.ts';
import { requireLiveSession } from '../../execution/sessions/live-session.ts';
import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { skillProtocols } from '../../organisation/skills/skill.ts';
import { getSkillRow } from '../../organisation/skills/skills.ts';
import { checkDocument, refuseSecretKeys } from '../../service/documents.ts';
import type { Permission } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { failAttempt, takeOutput } from './attempts.ts';
import { namesOfBindings } from './call-rules.ts';
import {
  type ExecutorReach,
  findCallRights,
  findObstacle,
  lockLeased,
  lockNamedPending,
  lockNextPending,
  lockNextVisiblePending,
  type ShownLease,
  updateLease,
  updateQueueOf,
  updateToRunning,
} from './claim-invocation.sql.ts';
import { expireLeasesOfTenant } from './expired-leases.ts';
import {
  type ClaimedInvocation,
  type InvocationClaim,
  type InvocationFailure,
  type InvocationHeartbeat,
  type InvocationResult,
  type InvocationRow,
  invocationOf,
  keptOutputBytesMax,
  type SkillInvocation,
} from './invocation.ts';
import { invocationClaimed } from './invocations.events.ts';
import { findInvocation } from './invocations.sql.ts';

/** The maximum number of calls that one claim examines; those that have lost their basis are cancelled. */
const looksMax = 20;

/**
 * Assigns the executor the oldest call that it can execute, under a lease and with the next fencing token. First it
 * ends a few expired leases of the tenant. If a decision point decides permissions, it decides about the requester of
 * the call; without its decision no call is assigned. See docs/reference/skills.md#executors.
 * @returns undefined if no call matches
 * @throws Refusal `invalid_protocol`, `invalid_executor_endpoint`, `policy_unavailable`, those of `requireLiveSession`,
 * `not_eligible` for a named call that verifies a task on which the executor worked
 */
export async function claimInvocation(
  context: Context,
  asked: InvocationClaim,
): Promise<ClaimedInvocation | undefined> {
  const reach = { ...reachOf(asked), principalId: context.caller.principalId };
  const sessionId = asked.sessionId ?? null;
  if (sessionId !== null) await requireLiveSession(context, sessionId);
  await expireLeasesOfTenant(context);
  const viewerId = await viewerOf(context);
  for (let look = 1; look <= looksMax; look += 1) {
    const found = await lockPending(context, reach, viewerId);
    if (found === undefined) return undefined;
    const taken = await take(context, found.id, { sessionId, leaseSeconds: asked.leaseSeconds ?? null });
    if (taken !== undefined) return taken;
  }
  return undefined;
}

/**
 * @param viewerId the viewer whose visibility applies; null for a viewer who sees everything
 * @throws Refusal `not_eligible` for a named call that verifies a task on which the caller worked
 */
async function lockPending(
  { db, tenantId }: Context,
  reach: ExecutorReach,
  viewerId: string | null,
): Promise<{ id: string } | undefined> {
  if (reach.invocationId === null)
    return db.row(
      viewerId === null
        ? lockNextPending(tenantId, reach)
        : lockNextVisiblePending(tenantId, reach, viewerId),
    );
  const found = await db.row(lockNamedPending(tenantId, reach, viewerId));
  if (found?.is_barred === true) fail('not_eligible', { invocationId: found.id, taskId: found.task_id });
  return found;
}

/** Assigns a locked call to the caller; cancels a call without a basis, and requeues one whose skill has moved. */
async function take(
  context: Context,
  id: string,
  { sessionId, leaseSeconds }: { sessionId: string | null; leaseSeconds: number | null },
): Promise<ClaimedInvocation | undefined> {
  const { db, tenantId, caller } = context;
  const executor = { principalId: caller.principalId, sessionId, leaseSeconds };
  const named = namesOfBindings(context);
  const isAllowed = await isStillAllowed(context, id);
  const row = isAllowed ? await db.row(updateToRunning(tenantId, id, executor, named)) : undefined;
  if (row === undefined) {
    const found = await db.row(findObstacle(tenantId, id, named));
    const lost = found?.lost ?? (isAllowed ? null : 'permission_denied');
    if (lost === null) await db.run(updateQueueOf(tenantId, [id]));
    else await cancelCalls(context, [id], { code: 'basis_revoked', reason: lost, initiator: 'system' });
    return undefined;
  }
  noteClaimed(context, row);
  const { name, version, protocol, side_effects, risk_level, contract } = await getSkillRow(
    context,
    row.skill_id,
  );
  const skill = {
    id: row.skill_id,
    name,
    version,
    protocol,
    sideEffects: side_effects,
    riskLevel: risk_level,
  };
  return { invocation: invocationOf(row), skill: { ...skill, contract: contract as unknown as JsonObject } };
}

/**
 * Whether the decision point, if configured, still allows the call. No lock or connection is held during the request.
 */
async function isStillAllowed(context: Context, id: string): Promise<boolean> {
  if (context.authorities === undefined) return true;
  const rights = await context.db.row(findCallRights(context.tenantId, id));
  if (rights === undefined) return true;
  const snapshot = rights.credential as unknown as CredentialSnapshot;
  return isStillGranted(context, snapshot, rights.needed as Permission[], rights.workspace_id);
}

function noteClaimed(context: Context, row: InvocationRow): void {
  emit(
    context,
    invocationClaimed,
    { entityId: row.id, workspaceId: row.workspace_id, sessionId: row.executor_session_id },
    {
      skillId: row.skill_id,
      attempt: row.attempt,
      fencingToken: row.fencing_token,
      leaseExpiresAt: row.lease_expires_at as string,
    },
  );
}

/** @throws Refusal `invalid_protocol`, `invalid_executor_endpoint` */
function reachOf(asked: InvocationClaim): Omit<ExecutorReach, 'principalId'> {
  const { protocols, localEntrypoints, httpOrigins, mcpEndpoints, audiences, invocationId } = asked;
  const unknown = protocols.find((name) => !skillProtocols.some((known) => known === name));
  if (unknown !== undefined) fail('invalid_protocol', { allowed: skillProtocols });
  for (const [field, origins] of Object.entries({ httpOrigins, mcpEndpoints }))
    for (const [index, origin] of (origins ?? []).entries())
      if (!isOrigin(origin)) fail('invalid_executor_endpoint', { field: `${field}[${index}]` });
  return {
    protocols: [...new Set(protocols)],
    localEntrypoints: localEntrypoints ?? null,
    httpOrigins: httpOrigins?.map(originOf) ?? null,
    mcpEndpoints: mcpEndpoints?.map(originOf) ?? null,
    audiences: audiences ?? null,
    invocationId: invocationId ?? null,
  };
}

const originOf = (text: string) => new URL(text).origin;

/** `https://host` or `https://host:8443`, without a path. */
function isOrigin(text: string): boolean {
  return /^https?:\/\/[^/?#@\s]+$/i.test(text) && URL.canParse(text);
}

/** Extends a lease. @throws Refusal `not_found`, `stale_invocation_lease` */
export async function heartbeatInvocation(
  context: Context,
  id: string,
  { fencingToken, leaseSeconds, sessionId }: InvocationHeartbeat,
): Promise<SkillInvocation> {
  const shown = shownBy(context, { fencingToken, sessionId });
  const row = await context.db.row(updateLease(context.tenantId, id, shown, leaseSeconds ?? null));
  return row === undefined ? refuseStale(context, id) : invocationOf(row);
}

/** Ends a call with its output. @throws Refusal `not_found`, `stale_invocation_lease`, `invalid_document` */
export async function completeInvocation(
  context: Context,
  id: string,
  { fencingToken, sessionId, output, cost }: InvocationResult,
): Promise<SkillInvocation> {
  const row = await requireLease(context, id, { fencingToken, sessionId });
  return invocationOf(await takeOutput(context, row, output, cost ?? null));
}

/**
 * Records a failed attempt. Parts of the message that are shaped like a secret are not stored.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `secret_material_rejected`, `not_found`,
 * `stale_invocation_lease`
 */
export async function failInvocation(
  context: Context,
  id: string,
  { fencingToken, sessionId, error }: InvocationFailure,
): Promise<SkillInvocation> {
  const { code, message, retryable, details } = error;
  if (details != null) {
    checkDocument(details, { field: 'error.details', bytesMax: keptOutputBytesMax });
    refuseSecretKeys(details, 'error.details');
  }
  const row = await requireLease(context, id, { fencingToken, sessionId });
  const kept = {
    code,
    message: redactSecrets(message),
    ...(details != null && { details }),
  };
  return invocationOf(await failAttempt(context, row, kept, retryable));
}

type Shown = { fencingToken: number; sessionId?: string | null | undefined };

function shownBy({ caller }: Context, { fencingToken, sessionId }: Shown): ShownLease {
  return { principalId: caller.principalId, fencingToken, sessionId: sessionId ?? null };
}

async function requireLease(context: Context, id: string, shown: Shown): Promise<InvocationRow> {
  const row = await context.db.row(lockLeased(context.tenantId, id, shownBy(context, shown)));
  return row ?? refuseStale(context, id);
}

/** @throws Refusal `not_found`, `stale_invocation_lease` */
async function refuseStale({ db, tenantId, counters }: Context, id: string): Promise<never> {
  const row = (await db.row(findInvocation(tenantId, id))) ?? fail('not_found', { invocationId: id });
  counters.staleFencingRejections.inc();
  return fail('stale_invocation_lease', { invocationId: id, status: row.status });
}
