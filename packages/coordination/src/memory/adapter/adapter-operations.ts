import { type Reply, reply } from '@baton/kernel/http/service';
import { eventText } from '@baton/values/event-text';
import { encodeCursor, isLegacy, type JournalPosition, parseCursor } from '../../ledger/journal/cursor.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { isBehind } from '../../ledger/journal/read-pages.ts';
import { lockJournalFloors } from '../../ledger/retention/floors.ts';
import { holds } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { adapterRebuilt, adapterRedriven } from './context-adapter.events.ts';
import {
  findState,
  type HeldRow,
  lockConsumer,
  updateRebuilt,
  updateRedriven,
} from './context-adapter.sql.ts';
import {
  type AdapterRebuild,
  type AdapterState,
  adapterStateOf,
  lagMax,
  type StateRow,
} from './context-adapter.ts';
import { consumer } from './delivery.ts';

/**
 * The state of delivery in the caller's tenant; the response has the same form before the first cycle. For a tenant on
 * hold, `Retry-After` gives the delay until the next attempt.
 */
export async function getAdapterState({ db, tenantId }: Context): Promise<Reply<AdapterState>> {
  const row = (await db.row(findState(tenantId, consumer, lagMax + 1))) as StateRow;
  const seconds = row.wait_seconds;
  return reply(
    200,
    adapterStateOf(row),
    seconds === null ? {} : { 'retry-after': String(Math.max(1, seconds)) },
  );
}

/**
 * Immediately retries the event at which a tenant is on hold. The cursor never moves.
 * @throws Refusal `not_found` for another tenant, and before the first cycle
 */
export async function redriveAdapter(
  context: Context,
  tenantId: string,
  reason: string,
): Promise<Reply<AdapterState>> {
  const { held } = await lockCursor(context, tenantId);
  await context.db.run(updateRedriven(tenantId, consumer));
  emit(
    context,
    adapterRedriven,
    { entityId: tenantId },
    {
      consumer,
      wasParked: held.parked_at !== null,
      parkedReason: held.parked_reason,
      parkedEventId: held.parked_event_id,
      cursor: encodeCursor(held),
      reason: eventText(reason),
    },
  );
  return getAdapterState(context);
}

/**
 * Moves the cursor back, so that later events are delivered again; the memory service recognizes events that it already
 * has. Without a cursor in the request, it moves to the oldest event that still exists.
 * @throws Refusal `not_found`, `unsupported_cursor_version`, `invalid_cursor`, `cursor_must_not_advance`,
 * `cursor_below_journal_floor`
 */
export async function rebuildAdapter(
  context: Context,
  tenantId: string,
  { cursor, reason }: AdapterRebuild,
): Promise<Reply<AdapterState>> {
  const { held, floor } = await lockCursor(context, tenantId);
  const to = cursor == null ? floor : placeFor(cursor, held, floor);
  await context.db.run(updateRebuilt(tenantId, consumer, to));
  emit(
    context,
    adapterRebuilt,
    { entityId: tenantId },
    { consumer, fromCursor: encodeCursor(held), toCursor: encodeCursor(to), reason: eventText(reason) },
  );
  return getAdapterState(context);
}

/** Locks the floor first, so that nothing is pruned between this check and the end of the command. */
async function lockCursor(
  { db, tenantId }: Context,
  asked: string,
): Promise<{ held: HeldRow; floor: JournalPosition }> {
  if (asked !== tenantId) fail('not_found', { tenantId: asked });
  const { floor_position: position, floor_sequence: sequence } = await lockJournalFloors(db, tenantId);
  const held = (await db.row(lockConsumer(tenantId, consumer))) ?? fail('not_found', { tenantId });
  return { held, floor: { position, sequence } };
}

function placeFor(cursor: string, current: JournalPosition, floor: JournalPosition): JournalPosition {
  const place = parseCursor(cursor);
  if (isLegacy(place)) return fail('invalid_cursor');
  if (isBehind(place, current))
    fail('cursor_must_not_advance', { currentCursor: encodeCursor(current), requestedCursor: cursor });
  if (isBehind(floor, place))
    fail('cursor_below_journal_floor', { floorCursor: encodeCursor(floor), requestedCursor: cursor });
  return place;
}

/**
 * The part of a tenant's journal that memory has received, for the caller of a context. See
 * docs/reference/memory.md#context.
 */
export interface DeliveryProgress {
  readonly memoryCursor: string | null;
  readonly memoryLagEvents: number | null;
  readonly memoryLagCapped: boolean;
  readonly memoryIngest: {
    readonly status: 'ok' | 'parked';
    readonly lastError: string | null;
    readonly lastDeliveryAt: string | null;
    readonly parkedEventId: string | null;
    readonly nextAttemptAt: string | null;
  };
}

/**
 * Counts at most 1,001 events of a backlog. The event at which a tenant is on hold may belong to any workspace, and the
 * memory service's message may repeat part of it, so only callers who may read the whole journal get them.
 */
export async function getFreshness(context: Context): Promise<DeliveryProgress> {
  const { db, tenantId, caller } = context;
  const readsAll = holds(caller.permissions, 'events.read') && (await viewerOf(context)) === null;
  const state = adapterStateOf((await db.row(findState(tenantId, consumer, lagMax + 1))) as StateRow);
  const { parked, parkedReason, lastDeliveryAt, parkedEventId, nextAttemptAt } = state;
  return {
    memoryCursor: state.cursor,
    memoryLagEvents: state.lagEvents,
    memoryLagCapped: state.lagCapped,
    memoryIngest: {
      status: parked ? 'parked' : 'ok',
      lastError: readsAll ? parkedReason : null,
      lastDeliveryAt,
      parkedEventId: readsAll ? parkedEventId : null,
      nextAttemptAt,
    },
  };
}
