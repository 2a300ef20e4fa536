import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type LiveRunRow, requireLiveRun } from '../runs/live-run.ts';
import { updateMessageToResolved } from './acknowledge-message.sql.ts';
import { payloadOf, requireRunVersion } from './add-messages.ts';
import { requestChildCancels, scheduleCascade } from './cascades.ts';
import {
  acknowledgements,
  type ControlMessageAcknowledgement,
  type ControlMessageResult,
  type ControlMessageRow,
  controlMessageOf,
} from './control-message.ts';
import {
  controlMessageApplied,
  controlMessageRejected,
  controlMessageSuperseded,
} from './control-messages.events.ts';
import { findMessage, findOpenMessages } from './control-messages.sql.ts';
import { checkAcknowledgement } from './control-texts.ts';
import { attemptFirstBatch, cascadeBatchMax } from './force-cancel.ts';

const eventOf = {
  applied: controlMessageApplied,
  rejected: controlMessageRejected,
  superseded: controlMessageSuperseded,
};

/**
 * Resolves the next message of a run (docs/reference/actions-and-usage.md#acknowledge); requires the run's live claim.
 * An applied cancel request is also sent to the runs that this run launched with a cascading policy. Requests that
 * can't be written are left to the worker.
 * @throws Refusal `invalid_control_status`, those of `checkAcknowledgement` and of `requireLiveRun`,
 * `run_version_conflict`, `not_found`, `control_message_terminal`, `control_message_version_conflict`,
 * `control_message_out_of_order`
 */
export async function acknowledgeControlMessage(
  context: Context,
  runId: string,
  messageId: string,
  request: ControlMessageAcknowledgement,
): Promise<ControlMessageResult> {
  const status = acknowledgements.find((known) => known === request.status);
  if (status === undefined) return fail('invalid_control_status', { known: acknowledgements });
  checkAcknowledgement(request);
  const { db, tenantId, caller } = context;
  const run = await requireLiveRun(context, runId, request);
  requireRunVersion(run, request.expectedRunVersion);
  await requireTurn(context, run, messageId, request.expectedMessageVersion);
  const { safeBoundary = null, reason } = request;
  const resolution = { tenantId, runId, messageId, status, safeBoundary, reason: reason.trim() };
  const message = await db.row(
    updateMessageToResolved({ ...resolution, acknowledgedBy: caller.principalId }),
  );
  if (message === undefined) throw new Error('an open message of a locked run could not be resolved');
  const boundary = safeBoundary === null ? null : eventText(safeBoundary);
  emit(
    context,
    eventOf[status],
    { entityId: runId, workspaceId: run.workspace_id, sessionId: run.session_id },
    { ...payloadOf(message), safeBoundary: boundary },
  );
  if (status === 'applied' && message.operation === 'request_cancel') await cascade(context, message);
  return { controlMessage: controlMessageOf(message), runVersion: message.run_version };
}

/** Messages are resolved in order. The run is locked, so none is added or resolved concurrently. */
async function requireTurn(
  { db, tenantId }: Context,
  { id: runId }: LiveRunRow,
  messageId: string,
  expectedVersion: number,
): Promise<void> {
  const message = (await db.row(findMessage(tenantId, runId, messageId))) ?? fail('not_found', { messageId });
  const { status, version: currentVersion } = message;
  if (status !== 'accepted') fail('control_message_terminal', { controlMessageId: messageId, status });
  if (currentVersion !== expectedVersion)
    fail('control_message_version_conflict', { expectedVersion, currentVersion });
  const earliestAcceptedId = (await db.row(findOpenMessages(tenantId, runId)))?.earliest_id;
  if (earliestAcceptedId !== messageId) fail('control_message_out_of_order', { earliestAcceptedId });
}

async function cascade(context: Context, message: ControlMessageRow): Promise<void> {
  const asked = await attemptFirstBatch(context, message, () => requestChildCancels(context, message));
  if (asked === undefined || asked === cascadeBatchMax) await scheduleCascade(context, message, false);
}
