import { continueEnding, findDueEndings } from '../../leases/endings.ts';
import { endingBatchMax } from '../../leases/lease-bounds.ts';
import { claimExpired } from '../../leases/leases.events.ts';
import { expireFreeSession } from '../../leases/session-ending.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { type DueRow, findDueClaims, findDueSessions, updateClaimsToStale } from './sweeper.sql.ts';

/**
 * Records leases that ran out while their holders were gone (core, section 19). Nothing depends on it, because every use
 * of a lease compares it with the clock of the database.
 */

const batchMax = 100;

/** Sessions over their lease become stale, and their claims are released. Each in a transaction of its own. */
export function expireDueSessions({ pool, command }: JobTools<Context>): Job {
  const name = 'sessions';
  return {
    name,
    batchMax,
    async run() {
      const due = await pool.rows(findDueSessions(batchMax));
      return forEach(due, ({ id, tenant_id: tenantId }) =>
        command(name, tenantId, async (context) =>
          (await expireFreeSession(context, id)) === undefined ? 0 : 1,
        ),
      );
    },
  };
}

/**
 * Claims over their lease become stale, and their tasks are free. Those of one tenant in one transaction; where that
 * fails, each in its own, so that one that fails for good keeps no other.
 */
export function expireDueClaims({ pool, command, log }: JobTools<Context>): Job {
  const name = 'claims';
  const expire = (tenantId: string, claims: readonly DueRow[]): Promise<number> =>
    command(name, tenantId, (context) => expireClaims(context, claims)).catch((error: unknown) => {
      const [first] = claims;
      if (claims.length > 1) return forEach(claims, (claim) => expire(tenantId, [claim]));
      log.error({ err: error, claimId: first?.id }, 'a claim over its lease could not be expired');
      throw error;
    });
  return {
    name,
    batchMax,
    async run() {
      const due = Map.groupBy(await pool.rows(findDueClaims(batchMax)), (row: DueRow) => row.tenant_id);
      return forEach([...due], ([tenantId, claims]) => expire(tenantId, claims));
    },
  };
}

async function expireClaims(context: Context, claims: readonly DueRow[]): Promise<number> {
  const claimIds = claims.map(({ id }) => id);
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

/** What a disable or the end of a session left to do: a batch of each, in transactions of their own. */
export function finishEndings({ pool, command }: JobTools<Context>): Job {
  const name = 'endings';
  return {
    name,
    batchMax: endingBatchMax,
    async run() {
      const due = await pool.rows(findDueEndings());
      return forEach(due, ({ id, tenant_id: tenantId }) =>
        command(name, tenantId, (context) => continueEnding(context, id)),
      );
    },
  };
}

/** A failure doesn't stop the others; the first one is thrown after all items were tried. */
async function forEach<Item>(items: readonly Item[], act: (item: Item) => Promise<number>): Promise<number> {
  let handled = 0;
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      handled += await act(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return handled;
}
