import { z } from 'zod';
import { newId } from '@baton/values/ids';
import { Uuid } from '@baton/values/wire';
import { requireDelegated } from '../../leases/delegated/delegated-rights.ts';
import { claimExpired } from '../../leases/leases.events.ts';
import { noteEvent } from '../../ledger/journal/journal.ts';
import { permittedIds } from '../../service/permissions.ts';
import { findNextWork, partsOf, searchOf, type WorkSearch } from '../../work/available/available.ts';
import { lockNextWork } from '../../work/available/queue-front.ts';
import { Task, taskOf } from '../../work/tasks/task.ts';
import type { Context } from '../context.ts';
import { requireLiveSession } from '../sessions/live-session.ts';
import { Claim, ClaimRequest, claimOf } from './claim.ts';
import { deleteHeldFromQueue, findTasksById, insertNextClaims, type NextClaimRow } from './claim-next.sql.ts';
import { taskClaimed } from './claims.events.ts';
import { claimTtl, refuseTtl } from './ttl.ts';

const countMax = 100;
/** How many extra tasks the first round reads, because rivals may have locked some of them. */
const spareRows = 64;
/** Each round reads this many times as many rows as the previous round, up to the maximum. */
const roundGrowth = 4;
const roundRowsMax = 10_000;
/** Bounds the rounds of a call if the queue begins with very many stale rows. The next call continues after them. */
const roundsMax = 12;

export const ClaimNextRequest = ClaimRequest.extend({
  count: z.int().min(1).max(countMax).default(1),
  workspaceId: Uuid.nullish(),
  includeDescendants: z.boolean().nullish(),
  projectId: Uuid.nullish(),
  includeSubprojects: z.boolean().nullish(),
  assigneeId: Uuid.nullish(),
  assignedToMe: z.boolean().nullish().describe('Overrides assigneeId.'),
  includeAssigned: z
    .boolean()
    .nullish()
    .describe('Also claim tasks assigned to others; all are then ordered by priority, then age.'),
}).meta({ id: 'ClaimNextRequest' });
export type ClaimNextRequest = z.output<typeof ClaimNextRequest>;

export const NextWork = z
  .strictObject({ items: z.array(z.strictObject({ task: Task, claim: Claim })) })
  .meta({ id: 'NextWork' });
export type NextWork = z.infer<typeof NextWork>;

/**
 * Claims the next tasks of the queue for the caller's session, in one transaction
 * (docs/reference/claims.md#claim-the-next-tasks): first those assigned to the caller, then unassigned ones. Each group
 * is ordered by priority, then age, and children of the same parent are spaced one second apart. Concurrent callers
 * share the queue: a task locked by a rival is skipped.
 * @throws Refusal `permission_denied`, those of a session, `not_found`, `invalid_ttl`
 */
export async function claimNextTasks(context: Context, request: ClaimNextRequest): Promise<NextWork> {
  await requireDelegated(context, request, 'tasks.claim');
  await requireLiveSession(context, request.sessionId);
  const search = await searchOf(context, withoutNulls(request));
  const ttlSeconds = claimTtl(context, request.ttlSeconds) ?? refuseTtl(context);
  const taken = await takeNext(context, search, request, ttlSeconds);
  for (const lease of taken) noteGranted(context, lease);
  const ids = taken.map(({ task_id }) => task_id);
  const rows = ids.length === 0 ? [] : await context.db.rows(findTasksById(context.tenantId, ids));
  const tasks = new Map(rows.map((row) => [row.id, taskOf(row)]));
  return {
    items: taken.map((lease) => ({ task: tasks.get(lease.task_id) as Task, claim: claimOf(lease) })),
  };
}

/**
 * Claims the first tasks that no rival has locked. Reads more and more of the queue until enough are claimed or the
 * queue is exhausted.
 */
async function takeNext(
  context: Context,
  search: WorkSearch,
  request: ClaimNextRequest,
  ttlSeconds: number,
): Promise<NextClaimRow[]> {
  const { db, tenantId } = context;
  const taken: NextClaimRow[] = [];
  const take = async (found: readonly string[]) => {
    const taskIds = permitted(context, found);
    const count = request.count - taken.length;
    if (taskIds.length > 0)
      taken.push(...(await db.rows(insertNextClaims(leases(context, request, taskIds, count, ttlSeconds)))));
  };
  await take(await lockNextWork(context, search, request.count));
  if (taken.length === request.count) return taken;
  for (const part of await partsOf(context, search)) {
    let rowsMax = request.count + spareRows;
    for (let round = 1; round <= roundsMax; round += 1) {
      const found = await findNextWork(context, part, rowsMax);
      const held = found.filter(({ is_held }) => is_held).map(({ task_id }) => task_id);
      if (held.length > 0) await db.rows(deleteHeldFromQueue(tenantId, held));
      await take(found.filter(({ is_held }) => !is_held).map(({ task_id }) => task_id));
      if (taken.length === request.count) return taken;
      if (found.length < rowsMax) break;
      rowsMax = Math.min(rowsMax * roundGrowth, roundRowsMax);
    }
  }
  return taken;
}

/** The tasks that the caller may claim and see. Each task is checked separately. */
function permitted({ caller: { permissions } }: Context, taskIds: readonly string[]): readonly string[] {
  return permittedIds(
    permissions,
    'tasks.read',
    'task',
    permittedIds(permissions, 'tasks.claim', 'task', taskIds),
  );
}

function leases(
  context: Context,
  { sessionId, intent }: ClaimNextRequest,
  taskIds: readonly string[],
  count: number,
  ttlSeconds: number,
) {
  const { tenantId, caller, correlationId, requestId, traceRunId } = context;
  const { principalId, iamPrincipalId } = caller;
  const ids = () => Array.from({ length: count }, newId);
  return {
    tenantId,
    principalId,
    iamPrincipalId,
    sessionId,
    taskIds,
    claimIds: ids(),
    claimedEventIds: ids(),
    expiredEventIds: ids(),
    ttlSeconds,
    intent,
    correlationId,
    requestId,
    traceRunId,
    writesOutbox: context.settings.CP_OUTBOX_ENABLED,
  };
}

function noteGranted(context: Context, lease: NextClaimRow): void {
  context.wroteEvents = true;
  noteEvent(context, taskClaimed, lease.claimed_payload);
  if (lease.expired_payload === null) return;
  noteEvent(context, claimExpired, lease.expired_payload);
  context.afterCommit.push(() => context.counters.claimTakeovers.inc());
}

/** Removes null filters: null means the same as absent. */
function withoutNulls(request: ClaimNextRequest) {
  return {
    workspaceId: request.workspaceId ?? undefined,
    includeDescendants: request.includeDescendants ?? undefined,
    projectId: request.projectId ?? undefined,
    includeSubprojects: request.includeSubprojects ?? undefined,
    assigneeId: request.assigneeId ?? undefined,
    assignedToMe: request.assignedToMe ?? undefined,
    includeAssigned: request.includeAssigned ?? undefined,
  };
}
