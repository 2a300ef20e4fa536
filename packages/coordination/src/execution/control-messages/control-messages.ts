import { decodeCursor, encodeCursor, type Page } from '@baton/kernel/http/paging';
import { type Reply, reply } from '@baton/kernel/http/service';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Run, runOf } from '../runs/run.ts';
import { getRun } from '../runs/runs.ts';
import { addMessages, requireRunVersion } from './add-messages.ts';
import { scheduleCascade } from './cascades.ts';
import {
  type ControlMessage,
  type ControlMessagePage,
  type ControlMessageResult,
  type ControlMessageRow,
  type ControlOperation,
  controlMessageOf,
  type NewControlMessage,
} from './control-message.ts';
import {
  findMessageByKey,
  findMessages,
  findOpenMessages,
  findRunHead,
  lockRun,
} from './control-messages.sql.ts';
import { checkNewMessage, checkTexts } from './control-texts.ts';
import { type ForceCancelled, forceCancel } from './force-cancel.ts';

/** Open messages of one run. Cancel requests have extra room, so that a full backlog of directives can't block them. */
const openMax = { directives: 200, cancels: 250 };
/** Delay after which a sender may retry: the executor has to resolve a message first. */
const retryAfterSeconds = 5;

/**
 * Sends a message to a running run (docs/reference/actions-and-usage.md#send). The idempotency key belongs to the
 * message itself: a repeated request returns the stored message, even after the idempotency record has expired.
 * @throws Refusal `permission_denied`, those of `checkNewMessage`, `not_found`, `run_not_active`,
 * `idempotency_key_reused`, `run_version_conflict`, `rate_limited`
 */
export async function sendControlMessage(
  context: Context,
  runId: string,
  request: NewControlMessage,
): Promise<Reply<ControlMessageResult>> {
  await requireController(context, runId);
  const operation = checkNewMessage(request);
  const managesClaims = holds(context.caller.permissions, 'claims.manage');
  const sent =
    operation === 'force_cancel'
      ? await forceCancel(context, runId, request, managesClaims, () =>
          storedMessage(context, runId, request, operation),
        )
      : await addMessage(context, runId, request, operation);
  if (sent.isUnfinished) await scheduleCascade(context, sent.message, managesClaims);
  const location = `/api/v1/runs/${runId}/control-messages/${sent.message.id}`;
  const result = { controlMessage: controlMessageOf(sent.message), runVersion: sent.runVersion };
  return reply(201, result, { location });
}

async function addMessage(
  context: Context,
  runId: string,
  request: NewControlMessage,
  operation: ControlOperation,
): Promise<ForceCancelled> {
  const { db, tenantId, idempotencyKey } = context;
  const run = (await db.row(lockRun(tenantId, runId))) ?? fail('not_found');
  if (run.status !== 'running') fail('run_not_active', { runId, status: run.status });
  const stored = await storedMessage(context, runId, request, operation);
  if (stored !== undefined) return { message: stored, runVersion: run.version, isUnfinished: false };
  requireRunVersion(run, request.expectedRunVersion);
  const room = operation === 'request_cancel' ? openMax.cancels : openMax.directives;
  const open = (await db.row(findOpenMessages(tenantId, runId)))?.open ?? 0;
  if (open >= room)
    fail('rate_limited', { retryAfterSeconds }, { headers: { 'retry-after': String(retryAfterSeconds) } });
  const { causalPosition, directive = null, reason } = request;
  const sending = { operation, causalPosition, directive, reason, causationId: null };
  const [message] = await addMessages(context, [runId], sending, () => idempotencyKey as string);
  if (message === undefined) throw new Error('a message to a locked, running run was not stored');
  return { message, runVersion: message.run_version, isUnfinished: false };
}

/** Finds the run's earlier message with this key. @throws Refusal `idempotency_key_reused` */
async function storedMessage(
  { db, tenantId, caller, idempotencyKey: key }: Context,
  runId: string,
  request: NewControlMessage,
  operation: ControlOperation,
): Promise<ControlMessageRow | undefined> {
  const stored = await db.row(findMessageByKey(tenantId, runId, key as string));
  if (stored === undefined) return undefined;
  const isSame =
    stored.operation === operation &&
    stored.causal_position === request.causalPosition &&
    stored.directive === (request.directive ?? null) &&
    stored.reason === request.reason &&
    stored.requested_by_principal_id === caller.principalId;
  return isSame ? stored : fail('idempotency_key_reused', { key });
}

/**
 * Requests that a running run stop by itself (docs/reference/actions-and-usage.md#request-a-cancel-without-a-message).
 * Repeating it has no effect.
 * @throws Refusal `not_found`, `permission_denied`, `unsafe_control_payload`, `secret_material_rejected`,
 * `run_not_active`
 */
export async function requestCancel(context: Context, runId: string, reason: string): Promise<Run> {
  await requireController(context, runId);
  checkTexts({ reason });
  const run = (await context.db.row(lockRun(context.tenantId, runId))) ?? fail('not_found');
  if (run.status !== 'running') fail('run_not_active', { runId, status: run.status });
  if (run.cancel_requested_at !== null) return runOf(run);
  const sending = {
    operation: 'request_cancel' as const,
    causalPosition: 'legacy:request-cancel',
    directive: null,
    reason,
    causationId: null,
  };
  await addMessages(context, [runId], sending, (id) => `legacy:request-cancel:${id}`, reason);
  return getRun(context, runId);
}

/**
 * Requires the run's own principal or the permission to manage claims.
 * @throws Refusal `permission_denied`
 */
export async function requireController({ db, tenantId, caller }: Context, runId: string): Promise<void> {
  if (holds(caller.permissions, 'claims.manage')) return;
  const owner = await db.row(findRunHead(tenantId, runId));
  if (owner !== undefined && owner.principal_id !== caller.principalId)
    fail('permission_denied', { required: ['claims.manage'] });
}

const cursorPrefix = 'rc1_';

/**
 * Lists a run's messages in order. The cursor is the number of the last message read, so later ones follow it.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listControlMessages(
  context: Context,
  runId: string,
  { limit, cursor }: Page,
): Promise<ControlMessagePage> {
  const afterSeq = cursor === undefined ? 0 : seqOf(cursor, runId);
  await getRun(context, runId);
  const found = await context.db.rows(findMessages(context.tenantId, runId, afterSeq, limit + 1));
  const items: ControlMessage[] = found.slice(0, limit).map(controlMessageOf);
  const lastSeq = items.at(-1)?.seq ?? afterSeq;
  const nextCursor = `${cursorPrefix}${encodeCursor('control-messages', [runId, lastSeq])}`;
  return { items, nextCursor, hasMore: found.length > limit };
}

/** A cursor is only valid for the run that it came from. */
function seqOf(cursor: string, runId: string): number {
  if (!cursor.startsWith(cursorPrefix)) fail('invalid_cursor');
  const position = decodeCursor('control-messages', cursor.slice(cursorPrefix.length), ['uuid', 'integer']);
  return position[0] === runId ? Number(position[1]) : fail('invalid_cursor');
}
