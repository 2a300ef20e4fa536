import type { ItemPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import { findAgentPrincipal } from '../../access/principals/managed-principals.ts';
import { listHanging } from '../../service/sight/seen-list.ts';
import { requireSightOfTask } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Run, runOf, runStatuses } from './run.ts';
import { findNewestOutput, findRun, listOfRuns } from './runs.sql.ts';

/** The query of `GET /runs`. */
export interface RunQuery {
  taskId?: string;
  claimId?: string;
  principalId?: string;
  agentKey?: string;
  status?: string;
  /** Only runs without progress for longer than their task type allows. */
  stalled?: boolean;
}

/**
 * Runs of an agent are those of its principal. An unknown `agentKey` returns an empty page.
 * @throws Refusal `invalid_status`, `invalid_cursor`
 */
export async function listRuns(
  context: Context,
  { taskId, claimId, principalId, agentKey, status, stalled }: RunQuery,
  page: Page,
): Promise<ItemPage<Run>> {
  if (status !== undefined && !runStatuses.some((known) => known === status))
    fail('invalid_status', { known: runStatuses });
  const agent = agentKey === undefined ? undefined : await findAgentPrincipal(context, agentKey);
  const principal = agentKey === undefined ? principalId : (agent?.principalId ?? null);
  const filter = { task_id: taskId, claim_id: claimId, principal_id: principal ?? undefined, status };
  const list = listOfRuns(context.tenantId, filter, stalled === true);
  list.all(page);
  if (principal === null || (principalId ?? principal) !== principal) return { items: [], nextCursor: null };
  return listHanging(context, taskId, list, page, runOf);
}

/** @throws Refusal `not_found` */
export async function getRun(context: Context, runId: string): Promise<Run> {
  const row = (await context.db.row(findRun(context.tenantId, runId))) ?? fail('not_found');
  await requireSightOfTask(context, row.task_id);
  return runOf(row);
}

/**
 * The output of a task's newest run; undefined if that run didn't succeed or has no output. Not restricted to the
 * caller's visibility.
 */
export async function findOutputOfTask(
  { db, tenantId }: Context,
  taskId: string,
): Promise<JsonObject | undefined> {
  const row = await db.row(findNewestOutput(tenantId, taskId));
  return row?.output ?? undefined;
}
