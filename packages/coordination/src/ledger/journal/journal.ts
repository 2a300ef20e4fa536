import type { z } from 'zod';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { observer } from '@baton/kernel/process/observer';
import { newId } from '@baton/values/ids';
import type { Context } from '../context.ts';
import { insertEvents } from './journal.sql.ts';

export interface EventAbout {
  /** Used by callers that need the event's id before it is written. */
  eventId?: string;
  entityId: string;
  workspaceId?: string | null;
  sessionId?: string | null;
  causationId?: string | null;
}

/**
 * Adds an event to this change. It is written in the command's transaction together with its outbox row, so the state,
 * the event and its delivery are stored together or not at all.
 * @returns the id of the event
 * @throws Error for an event that is missing from the catalog; then the whole change is rolled back
 */
export function emit<Payload extends z.ZodType>(
  context: Context,
  event: EventDeclaration<Payload>,
  about: EventAbout,
  payload: z.input<Payload>,
): string {
  noteEvent(context, event, payload);
  const id = about.eventId ?? newId();
  context.drafts.push({
    id,
    type: event.type,
    schema_version: event.version,
    entity_type: event.entity,
    entity_id: about.entityId,
    workspace_id: about.workspaceId ?? null,
    actor_id: context.caller.principalId || null,
    iam_actor_id: context.caller.iamPrincipalId,
    session_id: about.sessionId ?? null,
    correlation_id: context.correlationId,
    causation_id: about.causationId ?? context.causationId ?? null,
    request_id: context.requestId,
    trace_run_id: context.traceRunId,
    payload,
  });
  return id;
}

/**
 * Reports to the tests an event that a statement itself has written; the tests validate its payload.
 * @throws Error for an event that is missing from the catalog: a programming error, see
 * docs/reference/journal.md#events
 */
export function noteEvent(context: Context, event: EventDeclaration, payload: unknown): void {
  if (context.eventCatalog.get(event.type) !== event)
    throw new Error(`${event.type} is missing from the catalog of events`);
  const watching = observer();
  if (watching === undefined) return;
  const result = event.payload.safeParse(payload);
  if (!result.success)
    watching.violated(`${event.type} was written with another payload: ${result.error.message}`);
  watching.emitted('coordination', context.endpoint, event.type);
}

/** Writes the emitted events in order. Called once, just before the commit. */
export async function flushEvents(context: Context): Promise<void> {
  const drafts = context.drafts.splice(0);
  if (drafts.length === 0) return;
  await context.db.run(insertEvents(context.tenantId, drafts, context.settings.CP_OUTBOX_ENABLED));
  context.wroteEvents = true;
}
