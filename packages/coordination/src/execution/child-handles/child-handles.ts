import { decodeCursor, encodeCursor, type Page } from '@baton/kernel/http/paging';
import { noteChildRevoked } from '../../leases/children/child-revocation.ts';
import { holds } from '../../service/permissions.ts';
import { requireSightOfTask } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { addMessages, internalKey } from '../control-messages/add-messages.ts';
import { emitChildCancelRequests } from '../control-messages/cascades.ts';
import { fail } from '../errors.ts';
import { getRun } from '../runs/runs.ts';
import { type ChildHandle, type ChildHandlePage, childHandleOf } from './child-handle.ts';
import {
  findHandle,
  findHandles,
  lockChildRun,
  lockChildTask,
  updateHandleToRevoked,
} from './child-handles.sql.ts';
import { isSecretOf, parseHandleRef } from './handle-token.ts';

/**
 * Reads a handle by its id or its token. A token with a wrong secret is refused like one of an unknown handle.
 * @throws Refusal `invalid_child_handle_ref`, `invalid_child_handle_token`, `not_found`
 */
export async function getChildHandle(context: Context, ref: string): Promise<ChildHandle> {
  const { id, secret } = parseHandleRef(ref);
  const row = (await context.db.row(findHandle(context.tenantId, id))) ?? fail('not_found');
  if (secret !== undefined && !isSecretOf(secret, row.secret_hash)) fail('not_found');
  await requireSightOfTask(context, row.parent_task_id);
  return childHandleOf(row);
}

const cursorPrefix = 'cd1_';
const start = { createdAt: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/**
 * Lists the children that a run launched, oldest first.
 * @param active true for pending, running and suspended children, false for the others, undefined for all
 * @throws Refusal `invalid_cursor`, `not_found`
 */
export async function listChildHandles(
  context: Context,
  runId: string,
  { active = null, limit, cursor }: Page & { active?: boolean | null },
): Promise<ChildHandlePage> {
  const after = cursor === undefined ? start : positionOf(cursor, runId);
  await getRun(context, runId);
  const { db, tenantId } = context;
  const found = await db.rows(
    findHandles({ tenantId, parentRunId: runId, active, after, rowsMax: limit + 1 }),
  );
  const hasMore = found.length > limit;
  const items = found.slice(0, limit).map(childHandleOf);
  const last = items.at(-1);
  const nextCursor =
    hasMore && last !== undefined
      ? `${cursorPrefix}${encodeCursor('child-handles', [runId, last.createdAt, last.id])}`
      : null;
  return { items, nextCursor, hasMore };
}

/** A cursor is only valid for the run that it came from. */
function positionOf(cursor: string, runId: string) {
  if (!cursor.startsWith(cursorPrefix)) fail('invalid_cursor');
  const forms = ['uuid', 'timestamp', 'uuid'] as const;
  const [ofRun, createdAt, id] = decodeCursor('child-handles', cursor.slice(cursorPrefix.length), forms);
  return ofRun === runId ? { createdAt: String(createdAt), id: String(id) } : fail('invalid_cursor');
}

/**
 * Revokes a launch: no further run of the child can start, and none of its runs can launch children. Repeating the call
 * has no effect.
 * @param of.runId the run in the path, which must be the one that launched the child
 * @param request.cancelChild also sends a cancel request to the child's active run
 * @throws Refusal `not_found`, `run_holder_mismatch`
 */
export async function revokeChildHandle(
  context: Context,
  of: { handleId: string; runId?: string },
  { reason, cancelChild }: { reason: string; cancelChild: boolean },
): Promise<{ childHandle: ChildHandle }> {
  const { db, tenantId } = context;
  const handle = await handleOf(context, of);
  if (handle.revoked_at !== null) return { childHandle: childHandleOf(handle) };
  const { id, child_task_id: childTaskId } = handle;
  // The lock order of every command that locks several of them: task, run, handle.
  if (cancelChild) await db.row(lockChildTask(tenantId, childTaskId));
  const run = cancelChild ? await db.row(lockChildRun(tenantId, id)) : undefined;
  const revoked = await db.row(updateHandleToRevoked(tenantId, id, reason));
  if (revoked !== undefined) {
    noteChildRevoked(context, revoked, reason);
    if (run !== undefined) await askToStop(context, run.id, id, reason);
  }
  return { childHandle: childHandleOf(await handleOf(context, of)) };
}

async function handleOf(context: Context, { handleId, runId }: { handleId: string; runId?: string }) {
  const handle = (await context.db.row(findHandle(context.tenantId, handleId))) ?? fail('not_found');
  const { parent_run_id: parentRunId } = handle;
  if (runId !== undefined && parentRunId !== runId) fail('not_found');
  const { principalId } = await getRun(context, parentRunId);
  const { caller } = context;
  if (principalId !== caller.principalId && !holds(caller.permissions, 'claims.manage'))
    fail('run_holder_mismatch', { runId: parentRunId });
  return handle;
}

async function askToStop(context: Context, runId: string, handleId: string, reason: string): Promise<void> {
  const asked = await addMessages(
    context,
    [runId],
    {
      operation: 'request_cancel',
      causalPosition: 'child-handle:revoke',
      directive: null,
      reason,
      causationId: handleId,
    },
    () => internalKey(`revoke:${handleId}`),
  );
  await emitChildCancelRequests(context, asked, 'child_handle_revoked');
}
