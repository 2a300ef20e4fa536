import { isUnreachable } from '@baton/kernel/database/db';
import type { Statement } from '@baton/kernel/database/sql';
import { expireFreeSession } from '../../leases/end-session.ts';
import { continueEnding, endPart, findDueEndings, findEndingParts } from '../../leases/endings.ts';
import { endingBatchMax } from '../../leases/lease-bounds.ts';
import { claimExpired } from '../../leases/leases.events.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import { createWalk, type QueuePosition } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { runStalled } from '../runs/runs.events.ts';
import {
  type DueRow,
  type DueRunRow,
  findDueClaims,
  findDueSessions,
  findStalledRuns,
  updateClaimsToStale,
  updateRunsToStalled,
} from './sweeper.sql.ts';

/**
 * Records expired leases of absent holders (docs/reference/claims.md#leases). Nothing but these records depends on the
 * job, because every use of a lease compares it with the database clock. An entry that fails is postponed and doesn't
 * block the others.
 */

const batchMax = 100;
const stallOf = ({ stalls_at: at, id }: DueRunRow): QueuePosition => [at, id];
const expiryOf = ({ sweep_at: at, id }: DueRow): QueuePosition => [at, id];

/** Marks sessions with an expired lease as stale and releases their claims, each session in its own transaction. */
export function expireDueSessions({ pool, command, log }: JobTools<Context>): Job {
  const name = 'sessions';
  const putOff = createPutOff(name, log);
  const walk = createWalk(batchMax, (after) => pool.rows(findDueSessions(after, batchMax)), expiryOf);
  const expire = ({ id, tenant_id: tenantId }: DueRow, claimsMax?: number): Promise<number> =>
    command(name, tenantId, async (context) =>
      (await expireFreeSession(context, id, claimsMax)) === undefined ? 0 : 1,
    );
  return {
    name,
    batchMax,
    async run() {
      const due = await walk.next();
      const handled = await sumOf(due, (session) =>
        // One of the session's claims may cause the failure, so the session is ended without them, and they are left to
        // `finishEndings`.
        putOff.attempt(session.id, () => expire(session).catch(unlessUnreachable(() => expire(session, 0)))),
      );
      return walk.handledOf(due, handled);
    },
  };
}

/** Marks claims with an expired lease as stale and frees their tasks. */
export function expireDueClaims(tools: JobTools<Context>): Job {
  return sweepByTenant(tools, 'claims', findDueClaims, expiryOf, expireClaims);
}

/**
 * Emits one `run.stalled` for each running run without progress for longer than its task type allows
 * (docs/reference/runs.md#progress).
 */
export function recordStalledRuns(tools: JobTools<Context>): Job {
  return sweepByTenant(tools, 'stalled runs', findStalledRuns, stallOf, noteStalled);
}

/**
 * Handles the entries of each tenant in one transaction or, if that fails, each entry in its own.
 * @param find returns the next entries of all tenants
 * @param handle returns the number of handled entries
 */
function sweepByTenant<Row extends { id: string; tenant_id: string }>(
  { pool, command, log }: JobTools<Context>,
  name: string,
  find: (after: QueuePosition, rowsMax: number) => Statement<Row>,
  positionOf: (row: Row) => QueuePosition,
  handle: (context: Context, ids: readonly string[]) => Promise<number>,
): Job {
  const putOff = createPutOff(name, log);
  const walk = createWalk(batchMax, (after) => pool.rows(find(after, batchMax)), positionOf);
  const work = (tenantId: string, rows: readonly Row[]): Promise<number> =>
    command(name, tenantId, (context) =>
      handle(
        context,
        rows.map(({ id }) => id),
      ),
    );
  return {
    name,
    batchMax,
    async run() {
      const found = await walk.next();
      const due = Map.groupBy(
        found.filter(({ id }) => !putOff.isWaiting(id)),
        (row: Row) => row.tenant_id,
      );
      const handled = await sumOf([...due], ([tenantId, rows]) => {
        const one = (row: Row) => putOff.attempt(row.id, () => work(tenantId, [row]));
        return work(tenantId, rows).catch(unlessUnreachable(() => sumOf(rows, one)));
      });
      return walk.handledOf(found, handled);
    },
  };
}

async function noteStalled(context: Context, runIds: readonly string[]): Promise<number> {
  const stalled = await context.db.rows(updateRunsToStalled(context.tenantId, runIds));
  for (const run of stalled)
    emit(
      context,
      runStalled,
      { entityId: run.id, workspaceId: run.workspace_id, sessionId: run.session_id },
      { taskId: run.task_id, attempt: run.attempt, lastProgressAt: run.last_progress_at },
    );
  return stalled.length;
}

async function expireClaims(context: Context, claimIds: readonly string[]): Promise<number> {
  const expired = await context.db.rows(updateClaimsToStale(context.tenantId, claimIds));
  for (const claim of expired)
    emit(
      context,
      claimExpired,
      { entityId: claim.id, workspaceId: claim.workspace_id, sessionId: claim.session_id },
      {
        taskId: claim.task_id,
        reason: 'expired',
        taskStatus: claim.task_status,
        taskSystemStatusCategory: claim.task_category,
      },
    );
  return expired.length;
}

/**
 * Finishes the cleanup after a principal was disabled or a session ended: one batch of each, in separate transactions.
 * If a batch fails, its sessions and claims are retried one by one, and later batches exclude those that fail.
 */
export function finishEndings({ pool, command, log }: JobTools<Context>): Job {
  const name = 'endings';
  const putOff = createPutOff(name, log);
  const walk = createWalk(
    endingBatchMax,
    (after) => pool.rows(findDueEndings(after)),
    ({ acknowledged_at: at, id }): QueuePosition => [at, id],
  );
  const endOneByOne = async (tenantId: string, endingId: string, error: unknown): Promise<number> => {
    const except = putOff.waiting();
    const parts = await command(name, tenantId, (context) => findEndingParts(context, endingId, except));
    const handled = await sumOf(parts, (part) =>
      putOff.attempt(part.id, () => command(name, tenantId, (context) => endPart(context, endingId, part))),
    );
    if (handled === 0 && !parts.some(({ id }) => putOff.isWaiting(id))) throw error;
    return handled;
  };
  const work = (tenantId: string, id: string): Promise<number> => {
    const except = putOff.waiting();
    return command(name, tenantId, (context) => continueEnding(context, id, except)).catch(
      unlessUnreachable((error) => endOneByOne(tenantId, id, error)),
    );
  };
  return {
    name,
    batchMax: endingBatchMax,
    async run() {
      const due = await walk.next();
      const handled = await sumOf(due, ({ id, tenant_id: tenantId }) =>
        putOff.attempt(id, () => work(tenantId, id)),
      );
      return walk.handledOf(due, handled);
    },
  };
}

/** For `catch`: runs the fallback, unless the database is unreachable. */
function unlessUnreachable(otherWay: (error: unknown) => Promise<number>) {
  return (error: unknown): Promise<number> => {
    if (isUnreachable(error)) throw error;
    return otherWay(error);
  };
}

async function sumOf<Item>(items: readonly Item[], act: (item: Item) => Promise<number>): Promise<number> {
  let sum = 0;
  for (const item of items) sum += await act(item);
  return sum;
}
