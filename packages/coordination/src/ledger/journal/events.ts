import type { Page } from '@baton/kernel/paging';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  encodeCursor,
  isLegacy,
  type JournalCursor,
  type JournalPosition,
  parseCursor,
  parseLegacySequence,
} from './cursor.ts';
import { parseTypePrefixes, typePatternsOf } from './event-types.ts';
import type { EventPage, EventQuery, JournalEvent } from './events.api.ts';
import { type EventFilter, type EventRow, readPageAfter, readPageBefore } from './reading.ts';

type Query = z.output<z.ZodObject<typeof EventQuery>>;

/** One page of the tenant's journal (core, section 17.3). */
export async function readEvents(context: Context, query: Query, page: Page): Promise<EventPage> {
  refuseConflictingCursors(query, page.cursor);
  const after = cursorAfter(query, page.cursor);
  const before = query.before === undefined ? undefined : positionBefore(query.before);
  const filter: EventFilter = {
    typePatterns: typePatternsOf(parseTypePrefixes(query.types)),
    entityType: query.entityType ?? null,
    entityId: query.entityId ?? null,
  };
  // No workspace can be made yet, so whichever is named does not exist.
  if (query.workspaceId !== undefined) fail('not_found', { workspaceId: query.workspaceId });

  const request = { tenantId: context.tenantId, filter, limit: page.limit };
  const answer =
    before !== undefined || query.tail !== undefined
      ? await readOlder(context, before, query, request)
      : await readNewer(context, after, page.cursor ?? query.after, request);
  context.counters.eventReplayRequests.inc();
  context.counters.eventReplayEvents.inc(answer.items.length);
  return query.order === 'desc' ? { ...answer, items: answer.items.toReversed() } : answer;
}

type Request = { tenantId: string; filter: EventFilter; limit: number };

async function readNewer(
  { db }: Context,
  after: JournalCursor | undefined,
  given: string | undefined,
  request: Request,
): Promise<EventPage> {
  const { rows, hasMore, next, floor } = await readPageAfter(db, after, request);
  const unmoved = given ?? encodeCursor(floor);
  return {
    items: rows.map(eventOf),
    nextCursor: next === undefined ? unmoved : encodeCursor(next),
    hasMore,
  };
}

async function readOlder(
  { db }: Context,
  before: JournalPosition | undefined,
  { before: given, tail }: Query,
  request: Request,
): Promise<EventPage> {
  const limit = Math.min(request.limit, tail ?? request.limit);
  const { rows, previous, newest, floor } = await readPageBefore(db, before, { ...request, limit });
  const items = rows.map(eventOf);
  const prevCursor = previous === undefined ? null : encodeCursor(previous);
  if (before === undefined)
    return { items, nextCursor: encodeCursor(newest ?? floor), hasMore: false, prevCursor };
  const nextCursor = items.at(-1)?.cursor ?? (given as string);
  return { items, nextCursor, hasMore: previous !== undefined, prevCursor };
}

function refuseConflictingCursors({ before, after, tail }: Query, cursor: string | undefined): void {
  if (before === undefined) return;
  const others = Object.entries({ cursor, after, tail }).filter(([, value]) => value !== undefined);
  if (others.length > 0)
    fail('conflicting_cursors', { parameters: ['before', ...others.map(([name]) => name)] });
}

function cursorAfter({ after }: Query, cursor: string | undefined): JournalCursor | undefined {
  if (cursor !== undefined) return parseCursor(cursor);
  return after === undefined ? undefined : parseLegacySequence(after);
}

function positionBefore(text: string): JournalPosition {
  const cursor = parseCursor(text);
  return isLegacy(cursor) ? fail('invalid_cursor') : cursor;
}

export function eventOf(row: EventRow): JournalEvent {
  return {
    sequence: row.sequence,
    id: row.id,
    tenantId: row.tenant_id,
    type: row.type,
    schemaVersion: row.schema_version,
    entityType: row.entity_type,
    entityId: row.entity_id,
    workspaceId: row.workspace_id,
    actorId: row.actor_id,
    iamActorId: row.iam_actor_id,
    sessionId: row.session_id,
    correlationId: row.correlation_id,
    causationId: row.causation_id,
    requestId: row.request_id,
    traceRunId: row.trace_run_id,
    payload: row.payload,
    occurredAt: row.occurred_at,
    cursor: encodeCursor(row),
  };
}
