import { isUnreachable } from '@baton/kernel/db';
import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import { createWalk, type QueuePosition } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import {
  type CascadeRow,
  deleteCascade,
  findCascades,
  findChildrenToAsk,
  findHandles,
  insertCascade,
  tryLockCascade,
} from './cascades.sql.ts';
import type { ControlMessageRow } from './control-message.ts';
import { childCancelRequested } from './control-messages.events.ts';
import type { AddedMessageRow } from './control-messages.sql.ts';
import { cancelFreeTasks, cascadeBatchMax, findNextBelow } from './force-cancel.ts';
import { addMessages } from './sending.ts';

/** Leaves what a cancellation has not reached yet to the worker. */
export async function leaveToWorker({ db, tenantId }: Context, { id }: ControlMessageRow): Promise<void> {
  await db.run(insertCascade(tenantId, id));
}

/**
 * Asks the runs that a run launched, and that are to be asked with it, to stop by themselves (core, section 11). Their
 * executors do the same with theirs when they apply it.
 * @param root the request to cancel that was applied
 * @returns how many were asked: fewer than a batch when no more are left
 */
export async function askChildren(context: Context, root: ControlMessageRow): Promise<number> {
  const key = `cascade:${root.id}`;
  const { db, tenantId } = context;
  const found = await db.rows(findChildrenToAsk(tenantId, root.run_id, key, cascadeBatchMax));
  const asked = await addMessages(
    context,
    found.map(({ id }) => id),
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
    () => key,
  );
  await noteChildrenAsked(context, asked, 'parent_request_cancel');
  return found.length;
}

/** Says on launched runs that their launch is why they are asked to stop. */
export async function noteChildrenAsked(
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
 * Goes on with cancellations that reach further than their first transaction, a batch of each at a time. Where a batch
 * fails, each of its tasks is tried alone, and the next batches leave out those that fail.
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
    const taskIds = await command(name, tenantId, (context) => tasksOf(context, id, except));
    let handled = 0;
    for (const taskId of taskIds)
      handled += await putOff.attempt(taskId, () =>
        command(name, tenantId, (context) => cancelOne(context, id, taskId)),
      );
    if (handled === 0 && !taskIds.some((taskId) => putOff.isWaiting(taskId))) throw error;
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

/** @returns how many tasks or runs were handled; nothing left deletes the cascade */
async function continueCascade(
  context: Context,
  messageId: string,
  except: readonly string[],
): Promise<number> {
  const { db, tenantId } = context;
  const root = await db.row(tryLockCascade(tenantId, messageId));
  if (root === undefined) return 0;
  if (root.operation === 'request_cancel') {
    const asked = await askChildren(context, root);
    if (asked < cascadeBatchMax) await db.run(deleteCascade(tenantId, messageId));
    return asked;
  }
  const taskIds = await findNextBelow(context, root, except);
  if (taskIds.length > 0) return cancelFreeTasks(context, root, taskIds);
  if (except.length === 0 || (await findNextBelow(context, root, [])).length === 0)
    await db.run(deleteCascade(tenantId, messageId));
  return 0;
}

async function tasksOf(context: Context, messageId: string, except: readonly string[]): Promise<string[]> {
  const root = await context.db.row(tryLockCascade(context.tenantId, messageId));
  return root === undefined || root.operation === 'request_cancel'
    ? []
    : findNextBelow(context, root, except);
}

async function cancelOne(context: Context, messageId: string, taskId: string): Promise<number> {
  const root = await context.db.row(tryLockCascade(context.tenantId, messageId));
  return root === undefined ? 0 : cancelFreeTasks(context, root, [taskId]);
}
