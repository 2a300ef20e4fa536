import { cursorAtHorizon } from '../../ledger/journal/cursor.ts';
import { tasksInSight } from '../../service/sight/sight.ts';
import { getTaskRequirements } from '../../work/readiness/readiness.ts';
import { filterVisibleRelations } from '../../work/relations/task-relations.ts';
import { relationsMax } from '../../work/tasks/relation-limit.ts';
import { checkpointOf } from '../checkpoints/checkpoint.ts';
import { listChildHandles } from '../child-handles/child-handles.ts';
import type { Context } from '../context.ts';
import { controlMessageOf } from '../control-messages/control-message.ts';
import { fail } from '../errors.ts';
import { findNewestCheckpoints, findRunContext, findWaitingMessages } from './run-context.sql.ts';
import { contextPartsOf, type RunContext, type RunContextRow } from './run-context.ts';

const listMax = 50;
const messagesMax = 200;
/** The maximum total size of the checkpoints, whose documents have up to 64 KiB each. */
const checkpointBytesMax = 1_048_576;

/**
 * Reads the context of a run (docs/reference/runs.md#context), in seven statements regardless of its size. For a
 * person, two more statements exclude tasks that the person can't see. The journal cursor is taken with the first
 * statement, so later changes are read from there.
 * @throws Refusal `not_found`
 */
export async function getRunContext(context: Context, runId: string): Promise<RunContext> {
  const { db, tenantId } = context;
  const found = (await db.row(findRunContext(tenantId, runId, listMax, relationsMax))) ?? fail('not_found');
  const row = await filterVisibleContext(context, found);
  const taskId = row.task.id;
  const checkpoints = await db.rows(findNewestCheckpoints(tenantId, taskId, listMax, checkpointBytesMax));
  const messages = await db.rows(findWaitingMessages(tenantId, runId, messagesMax));
  const { items, hasMore } = await listChildHandles(context, runId, { limit: listMax, cursor: undefined });
  return {
    ...contextPartsOf(row),
    requirements: await getTaskRequirements(context, { id: taskId, number: null }),
    checkpoints: checkpoints.map((checkpoint) => ({
      ...checkpointOf(checkpoint),
      runAttempt: checkpoint.attempt,
    })),
    childHandles: { items, hasMore },
    pendingControlMessages: messages.map(controlMessageOf),
    eventCursor: cursorAtHorizon(row.horizon),
  };
}

/**
 * Excludes relations to tasks, and inputs from tasks, that the caller can't see (docs/reference/README.md#visibility).
 */
async function filterVisibleContext(context: Context, row: RunContextRow): Promise<RunContextRow> {
  return {
    ...row,
    relations: await filterVisibleRelations(context, row.relations),
    inputs: await filterVisibleInputs(context, row.inputs),
  };
}

/** Inputs without the artifacts of tasks that the caller can't see. */
export async function filterVisibleInputs(
  context: Context,
  inputs: RunContextRow['inputs'],
): Promise<RunContextRow['inputs']> {
  const sources = inputs.flatMap(({ sourceTaskId }) => sourceTaskId ?? []);
  const seen = await tasksInSight(context, [...new Set(sources)]);
  return inputs.map((input) => ({
    ...input,
    artifactId: input.sourceTaskId !== null && seen.has(input.sourceTaskId) ? input.artifactId : null,
  }));
}
