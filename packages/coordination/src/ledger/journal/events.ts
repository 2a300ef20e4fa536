import type { Page } from '@baton/kernel/http/paging';
import { viewerOf } from '../../service/sight/sight.ts';
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
import { type EventQuery, eventOf, type JournalEventPage } from './event.ts';
import { parseTypePrefixes, typePatternsOf } from './event-types.ts';
import { settleLegacy } from './legacy.ts';
import { type EventFilter, readPageAfter, readPageBefore, requireEventWorkspace } from './read-pages.ts';

/** One page of the tenant's journal. See docs/reference/journal.md#reading. */
export async function listEvents(context: Context, query: EventQuery, page: Page): Promise<JournalEventPage> {
  refuseConflictingCursors(query, page.cursor);
  const after = cursorAfter(query, page.cursor);
  const before = query.before === undefined ? undefined : positionBefore(query.before);
  const filter: EventFilter = {
    typePatterns: typePatternsOf(parseTypePrefixes(query.types)),
    entityType: query.entityType ?? null,
    entityId: query.entityId ?? null,
    actorId: query.actorId ?? null,
    workspaceId: query.workspaceId ?? null,
    viewerId: await viewerOf(context),
  };
  if (query.workspaceId !== undefined) await requireEventWorkspace(context, query.workspaceId);

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
): Promise<JournalEventPage> {
  const place = await settleLegacy(db, request.tenantId, after);
  const { rows, hasMore, next, floor } = await readPageAfter(db, place, request);
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
  { before: given, tail }: EventQuery,
  request: Request,
): Promise<JournalEventPage> {
  const limit = Math.min(request.limit, tail ?? request.limit);
  const { rows, previous, newest, floor } = await readPageBefore(db, before, { ...request, limit });
  const items = rows.map(eventOf);
  const prevCursor = previous === undefined ? null : encodeCursor(previous);
  if (before === undefined)
    return { items, nextCursor: encodeCursor(newest ?? floor), hasMore: false, prevCursor };
  const nextCursor: string = items.at(-1)?.cursor ?? (given as string);
  return { items, nextCursor, hasMore: previous !== undefined, prevCursor };
}

function refuseConflictingCursors({ before, after, tail }: EventQuery, cursor: string | undefined): void {
  if (before === undefined) return;
  const others = Object.entries({ cursor, after, tail }).filter(([, value]) => value !== undefined);
  if (others.length > 0)
    fail('conflicting_cursors', { parameters: ['before', ...others.map(([name]) => name)] });
}

function cursorAfter({ after }: EventQuery, cursor: string | undefined): JournalCursor | undefined {
  if (cursor !== undefined) return parseCursor(cursor);
  return after === undefined ? undefined : parseLegacySequence(after);
}

function positionBefore(text: string): JournalPosition {
  const cursor = parseCursor(text);
  return isLegacy(cursor) ? fail('invalid_cursor') : cursor;
}
