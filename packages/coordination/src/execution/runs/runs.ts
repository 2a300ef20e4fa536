import { cutPage, type Page } from '@baton/kernel/paging';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Run, runOf } from './run.ts';
import { findRun, listRuns, type RunFilter, runsNewestFirst } from './runs.sql.ts';
import { runStatuses } from '../../leases/lease-rows.ts';

/**
 * Agents of the registry come with it; until then every `agentKey` is unknown, which is an empty page.
 * @throws Refusal `invalid_status`, `invalid_cursor`
 */
export async function readRuns(
  context: Context,
  { status, agentKey, ...asked }: Omit<RunFilter, 'status'> & { status?: string; agentKey?: string },
  page: Page,
) {
  const known = runStatuses.find((name) => name === status);
  if (status !== undefined && known === undefined) fail('invalid_status', { known: runStatuses });
  const statement = listRuns(context.tenantId, { ...asked, status: known }, page);
  const found = agentKey === undefined ? await context.db.rows(statement) : [];
  const { rows, nextCursor } = cutPage(found, page, runsNewestFirst, (row) => [row.started_at, row.id]);
  return { items: rows.map(runOf), nextCursor };
}

/** @throws Refusal `not_found` */
export async function getRun(context: Context, runId: string): Promise<Run> {
  const row = await context.db.row(findRun(context.tenantId, runId));
  return row === undefined ? fail('not_found') : runOf(row);
}
