import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { ControlMessageRow, ControlOperation } from './control-message.ts';
import { controlMessageAccepted, runCancelRequested } from './control-messages.events.ts';
import { type AddedMessageRow, insertMessages } from './control-messages.sql.ts';

export interface Sending {
  readonly operation: ControlOperation;
  readonly causalPosition: string;
  readonly directive: string | null;
  readonly reason: string;
  /** The requester; the caller by default. */
  readonly requestedBy?: { principalId: string; requestId: string; correlationId: string };
  /** The message or the handle that caused this message. */
  readonly causationId: string | null;
}

/**
 * The key of a message that the service itself sends. It starts with a space, which is trimmed from every header value,
 * so that no client can use it.
 */
export const internalKey = (name: string) => ` ${name}`;

/** The key, in each run, of the messages that this message causes. */
export const cascadeKey = ({ id }: ControlMessageRow) => internalKey(`cascade:${id}`);

/**
 * Adds one open message to each of the runs, in the order of their ids, and emits the events. Runs that are not running
 * are skipped.
 * @param keyOf returns the message's key, unique in its run, for its id
 * @param reason the reason in `run.cancel_requested`; without it, the event only refers to the message
 */
export async function addMessages(
  context: Context,
  runIds: readonly string[],
  sending: Sending,
  keyOf: (messageId: string) => string,
  reason?: string,
): Promise<AddedMessageRow[]> {
  const { db, tenantId, caller, requestId, correlationId } = context;
  const by = sending.requestedBy ?? { principalId: caller.principalId, requestId, correlationId };
  const targets = runIds.map((run_id) => {
    const message_id = newId();
    return { message_id, run_id, key: keyOf(message_id) };
  });
  const added = await db.rows(
    insertMessages({
      tenantId,
      operation: sending.operation,
      causalPosition: sending.causalPosition,
      directive: sending.directive,
      reason: sending.reason,
      causationId: sending.causationId,
      requestedBy: by.principalId,
      requestId: by.requestId,
      correlationId: by.correlationId,
      targets,
    }),
  );
  for (const message of added) noteAccepted(context, message, sending.causationId, reason);
  return added;
}

function noteAccepted(
  context: Context,
  message: AddedMessageRow,
  causationId: string | null,
  reason: string | undefined,
): void {
  const about = {
    entityId: message.run_id,
    workspaceId: message.workspace_id,
    sessionId: message.session_id,
    causationId,
  };
  emit(context, controlMessageAccepted, about, payloadOf(message));
  if (message.operation !== 'request_cancel' || !message.is_first) return;
  emit(context, runCancelRequested, about, {
    taskId: message.task_id,
    attempt: message.attempt,
    controlMessageId: message.id,
    ...(reason !== undefined && { reason: eventText(reason) }),
  });
}

/** The fields of a message that the journal contains: neither the directive nor the reason. */
export function payloadOf(message: ControlMessageRow) {
  const { task_id: taskId, id: controlMessageId, seq, operation, status } = message;
  const causalPosition = eventText(message.causal_position);
  return { taskId, controlMessageId, seq, operation, status, causalPosition };
}

/** @throws Refusal `run_version_conflict` */
export function requireRunVersion(
  { version: currentVersion }: { version: number },
  expectedVersion: number,
): void {
  if (expectedVersion !== currentVersion) fail('run_version_conflict', { expectedVersion, currentVersion });
}
