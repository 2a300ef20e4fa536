import type { ItemPage } from '@baton/kernel/database/list';
import { cutPage, decodeCursor, type Page } from '@baton/kernel/http/paging';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { eventText } from '@baton/values/event-text';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { emit } from '../journal/journal.ts';
import {
  findUndelivered,
  insertDropped,
  type LockedRow,
  lockUndelivered,
  splitDelivery,
  updateDropped,
  updateRedriven,
} from './operate-outbox.sql.ts';
import { outboxDropped, outboxRedriven } from './outbox.events.ts';
import {
  deliveryIdOf,
  parseDeliveryId,
  type Status,
  type UndeliveredEvent,
  undeliveredEventOf,
} from './undelivered-event.ts';

const cursorName = 'outbox';
const beyond = Number.MAX_SAFE_INTEGER;

/** The tenant's undelivered events and dead letters, newest first. @throws Refusal `invalid_cursor` */
export async function listUndelivered(
  { db, tenantId }: Context,
  status: Status | undefined,
  page: Page,
): Promise<ItemPage<UndeliveredEvent>> {
  const [place, sequence] =
    page.cursor === undefined
      ? [beyond, beyond]
      : (decodeCursor(cursorName, page.cursor, ['integer', 'integer']) as [number, number]);
  const found = await db.rows(
    findUndelivered({ tenantId, status, after: { place, sequence }, rowsMax: page.limit + 1 }),
  );
  const { rows, nextCursor } = cutPage(found, page, cursorName, (row) => [row.place, row.sequence]);
  return { items: rows.map(undeliveredEventOf), nextCursor };
}

/**
 * Retries a dead letter; a pending event is left unchanged.
 * @throws Refusal `not_found`, also for a delivered or dropped event
 */
export async function redriveEvent(context: Context, id: string, reason: string): Promise<UndeliveredEvent> {
  const row = await lockDelivery(context, id);
  if (row.is_dropped) fail('not_found');
  if (row.next_attempt_at !== null) return undeliveredEventOf(row);
  const redriven = (await context.db.row(updateRedriven(row.place, row.lead))) as { next_attempt_at: string };
  note(context, outboxRedriven, row, reason);
  return undeliveredEventOf({ ...row, ...redriven, attempts: 0 });
}

/**
 * Drops the delivery of an event to a sink, pending or dead, so that it no longer blocks retention.
 * @throws Refusal `not_found`, also for a delivered event
 */
export async function dropEvent(context: Context, id: string, reason: string): Promise<UndeliveredEvent> {
  const { db, tenantId } = context;
  const row = await lockDelivery(context, id);
  if (row.is_dropped) return undeliveredEventOf(row);
  if (row.events === 1) await db.run(updateDropped(row.place, row.lead));
  else {
    await db.run(splitDelivery(row.place, row.lead, row.sequence));
    await db.run(insertDropped(tenantId, row));
  }
  note(context, outboxDropped, row, reason);
  return undeliveredEventOf({ ...row, next_attempt_at: null });
}

async function lockDelivery({ db, tenantId }: Context, id: string): Promise<LockedRow> {
  const { place, sequence } = parseDeliveryId(id);
  return (await db.row(lockUndelivered(tenantId, place, sequence))) ?? fail('not_found');
}

function note(
  context: Context,
  event: EventDeclaration<typeof outboxDropped.payload>,
  row: LockedRow,
  reason: string,
): void {
  const payload = { eventId: row.event_id, sink: row.sink, reason: eventText(reason) };
  emit(context, event, { entityId: deliveryIdOf(row) }, payload);
}
