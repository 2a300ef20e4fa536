import { isUnreachable } from '@baton/kernel/database/db';
import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import { createWalk, type QueuePosition } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { addMessages, cascadeKey } from './add-messages.ts';
import {
  type CascadeRow,
  deleteCascade,
  findCascades,
  findChildrenToCancel,
  findHandles,
  insertCascade,
  tryLockCascade,
} from './cascades.sql.ts';
import type { CascadeRoot, ControlMessageRow } from './control-message.ts';
import { childCancelRequested } from './control-messages.events.ts';
import type { AddedMessageRow } from './control-messages.sql.ts';
import { cancelNextTasks, cascadeBatchMax, findNextBelow } from './force-cancel.ts';

/**
 * Leaves the unfinished part of a cancellation to the worker.
 * @param followsRelations whether a forced cancellation also follows relations to tasks that were not launched
 */
export async function scheduleCascade(
  { db, tenantId }: Context,
  { id }: ControlMessageRow,
  followsRelations: boolean,
): Promise<void> {
  await db.run(insertCascade(tenantId, id, followsRelations));
}

/**
 * Sends a cancel request to the runs that a run launched with a cascading policy
 * (docs/reference/actions-and-usage.md#acknowledge). Their executors propagate it when they apply it.
 * @param root the applied cancel request
 * @returns the number of requests sent; fewer than a batch when none are left
 */
export async function requestChildCancels(context: Context, root: ControlMessageRow): Promise<number> {
  return askRuns(context, root, await findNextToAsk(context, root, []));
}

async function findNextToAsk(
  { db, tenantId }: Context,
  root: ControlMessageRow,
  except: readonly string[],
): Promise<string[]> {
  const of = { parentRunId: root.run_id, key: cascadeKey(root), rowsMax: cascadeBatchMax, except };
  return (await db.rows(findChildrenToCancel(tenantId, of))).map(({ id }) => id);
}

async function askRuns(
  context: Context,
  root: ControlMessageRow,
  runIds: readonly string[],
): Promise<number> {
  const asked = await addMessages(
    context,
    runIds,
    {
      operation: 'request_cancel',
      causalPosition: root.causal_position,
      directive: null,
      reason: root.reason,
      requestedBy: {
        principalId: root.requested_by_principal_id,
        requestId: root.request_id,
        correlationId: root.correlation_id,
      },
      causationId: root.id,
    },
    () => cascadeKey(root),
  );
  await emitChildCancelRequests(context, asked, 'parent_request_cancel');
  return runIds.length;
}

/** Emits an event for each child run whose parent's cancellation reached it. */
export async function emitChildCancelRequests(
  context: Context,
  asked: readonly AddedMessageRow[],
  reason: 'parent_request_cancel' | 'child_handle_revoked',
): Promise<void> {
  const handleIds = asked.map((message) => message.child_handle_id as string);
  const handles = await context.db.rows(findHandles(context.tenantId, handleIds));
  const correlationIds = new Map(handles.map(({ id, correlation_id }) => [id, correlation_id]));
  for (const message of asked) {
    const childHandleId = message.child_handle_id as string;
    emit(
      context,
      childCancelRequested,
      {
        entityId: message.run_id,
        workspaceId: message.workspace_id,
        sessionId: message.session_id,
        causationId: childHandleId,
      },
      {
        childHandleId,
        childRunId: message.run_id,
        controlMessageId: message.id,
        correlationId: correlationIds.get(childHandleId) as string,
        reason,
      },
    );
  }
}

const cascadesMax = 10;

/**
 * Continues cancellations that didn't finish in their first transaction, one batch of each at a time. If a batch fails,
 * its entries are retried one by one, and later batches exclude those that fail.
 */
export function continueCascades({ pool, command, log }: JobTools<Context>): Job {
  const name = 'cascades';
  const putOff = createPutOff(name, log);
  const walk = createWalk(
    cascadesMax,
    (after) => pool.rows(findCascades(after, cascadesMax)),
    ({ created_at: at, message_id: id }: CascadeRow): QueuePosition => [at, id],
  );
  const goOn = async ({ tenant_id: tenantId, message_id: id }: CascadeRow): Promise<number> => {
    const except = putOff.waiting();
    try {
      return await command(name, tenantId, (context) => continueCascade(context, id, except));
    } catch (error) {
      if (isUnreachable(error)) throw error;
      return oneByOne(tenantId, id, except, error);
    }
  };
  const oneByOne = async (tenantId: string, id: string, except: readonly string[], error: unknown) => {
    const entryIds = await command(name, tenantId, (context) => entriesOf(context, id, except));
    let handled = 0;
    for (const entryId of entryIds)
      handled += await putOff.attempt(entryId, () =>
        command(name, tenantId, (context) => reachOne(context, id, entryId)),
      );
    if (handled === 0 && !entryIds.some((entryId) => putOff.isWaiting(entryId))) throw error;
    return handled;
  };
  return {
    name,
    batchMax: cascadesMax,
    async run() {
      const due = await walk.next();
      let handled = 0;
      for (const cascade of due) handled += await putOff.attempt(cascade.message_id, () => goOn(cascade));
      return walk.handledOf(due, handled);
    },
  };
}

/** The next entries of a cancellation: runs to send a request to, or tasks further down. */
function findNext(context: Context, root: CascadeRoot, except: readonly string[]): Promise<string[]> {
  return root.operation === 'request_cancel'
    ? findNextToAsk(context, root, except)
    : findNextBelow(context, root, except);
}

function reach(context: Context, root: ControlMessageRow, entryIds: readonly string[]): Promise<number> {
  return root.operation === 'request_cancel'
    ? askRuns(context, root, entryIds)
    : cancelNextTasks(context, root, entryIds);
}

/** @returns the number of handled tasks or runs; when none are left, the cascade is deleted */
async function continueCascade(
  context: Context,
  messageId: string,
  except: readonly string[],
): Promise<number> {
  const { db, tenantId } = context;
  const root = await db.row(tryLockCascade(tenantId, messageId));
  if (root === undefined) return 0;
  const entryIds = await findNext(context, root, except);
  if (entryIds.length > 0) return reach(context, root, entryIds);
  if (except.length === 0 || (await findNext(context, root, [])).length === 0)
    await db.run(deleteCascade(tenantId, messageId));
  return 0;
}

async function entriesOf(context: Context, messageId: string, except: readonly string[]): Promise<string[]> {
  const root = await context.db.row(tryLockCascade(context.tenantId, messageId));
  return root === undefined ? [] : findNext(context, root, except);
}

async function reachOne(context: Context, messageId: string, entryId: string): Promise<number> {
  const root = await context.db.row(tryLockCascade(context.tenantId, messageId));
  return root === undefined ? 0 : reach(context, root, [entryId]);
}
