import type { ItemPage } from '@baton/kernel/database/list';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument } from '../../service/documents.ts';
import type { WholeListQuery } from '../../service/whole-list.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { journalPage, journalSlice } from '../runs/journal-page.ts';
import { type LiveRunRow, requireLiveRun } from '../runs/live-run.ts';
import { refuseSpentDuration } from '../usage/budgets.ts';
import { type Checkpoint, type CheckpointRequest, type CheckpointRow, checkpointOf } from './checkpoint.ts';
import { runCheckpointed } from './checkpoints.events.ts';
import { countCheckpoints, findCheckpoints, insertCheckpoint } from './checkpoints.sql.ts';

const kindCharactersMax = 100;

/**
 * Saves a checkpoint of a run (docs/reference/actions-and-usage.md#checkpoints). Requires the run's live claim.
 * @throws Refusal `invalid_checkpoint`, those of a document, those of `requireLiveRun`, `budget_exceeded`
 */
export async function createCheckpoint(
  context: Context,
  runId: string,
  { kind, data }: CheckpointRequest,
): Promise<Checkpoint> {
  requireKind(kind);
  checkDocument(data, { field: 'data' });
  const run = await requireLiveRun(context, runId);
  refuseSpentDuration(run);
  return writeCheckpoint(context, run, { kind, data });
}

/** Writes a checkpoint and its event under the run's lock. */
export async function writeCheckpoint(
  context: Context,
  run: LiveRunRow,
  { kind, data }: Pick<Checkpoint, 'kind' | 'data'>,
): Promise<Checkpoint> {
  const { tenantId, caller } = context;
  const row = (await context.db.row(
    insertCheckpoint({ id: newId(), tenantId, runId: run.id, principalId: caller.principalId, kind, data }),
  )) as CheckpointRow;
  emit(
    context,
    runCheckpointed,
    { entityId: run.id, workspaceId: run.workspace_id, sessionId: run.session_id },
    { taskId: run.task_id, checkpointId: row.id, seq: row.seq, kind: eventText(kind) },
  );
  return checkpointOf(row);
}

function requireKind(kind: string): void {
  if (kind.trim() === '' || kind.length > kindCharactersMax)
    fail('invalid_checkpoint', { field: 'kind', maxLength: kindCharactersMax });
}

/** Lists the checkpoints of a run, oldest first. @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor` */
export async function listCheckpoints(
  { db, tenantId }: Context,
  runId: string,
  query: WholeListQuery,
): Promise<ItemPage<Checkpoint>> {
  const { count } = (await db.row(countCheckpoints(tenantId, runId))) ?? fail('not_found');
  const slice = journalSlice(query, 'checkpoints', runId);
  const rows = await db.rows(findCheckpoints(tenantId, runId, slice));
  return journalPage(slice, rows, count, checkpointOf);
}
