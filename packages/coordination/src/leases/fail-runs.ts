import { eventText } from '@baton/values/event-text';
import { emit } from '../ledger/journal/journal.ts';
import { recordChildResults } from './children/child-results.ts';
import type { Context } from './context.ts';
import { failRunsOfClaims as failRuns, updateRunOfTaskToFailed } from './fail-runs.sql.ts';
import type { EndedRunRow } from './lease-rows.ts';
import { runFailed } from './leases.events.ts';

/**
 * Fails the running run of a task, if it has one, and writes the event. The task must be locked.
 * @param reason `superseded` for a run that an older claim left running, or `task_cancelled`
 */
export async function failRunningRun(context: Context, taskId: string, reason: string): Promise<void> {
  const run = await context.db.row(updateRunOfTaskToFailed(context.tenantId, taskId, reason));
  if (run === undefined) return;
  noteFailed(context, run, reason);
  await recordChildResults(context, [run]);
}

/**
 * Fails the running runs that were started under these claims, which must be locked or ended by this change.
 * @returns their number
 */
export async function failRunsOfClaims(
  context: Context,
  claimIds: readonly string[],
  reason: string,
): Promise<number> {
  if (claimIds.length === 0) return 0;
  const runs = await context.db.rows(failRuns(context.tenantId, claimIds, reason));
  for (const run of runs) noteFailed(context, run, reason);
  await recordChildResults(context, runs);
  return runs.length;
}

/** Writes the event of a failed run. Text in the reason that resembles a secret is removed. */
export function noteFailed(context: Context, run: EndedRunRow, reason: string): void {
  emit(
    context,
    runFailed,
    { entityId: run.id, workspaceId: run.workspace_id, sessionId: run.session_id },
    { taskId: run.task_id, reason: eventText(reason), attempt: run.attempt },
  );
}
