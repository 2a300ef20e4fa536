import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { encodeCursor, type JournalPosition } from '../journal/cursor.ts';
import { emit } from '../journal/journal.ts';
import { isBehind } from '../journal/read-pages.ts';
import { floorsOf, lockJournalFloors } from './floors.ts';
import { journalArchived, journalPruned } from './retention.events.ts';
import {
  type Bounds,
  findArchivable,
  findConsumer,
  findPrunable,
  findSlowestConsumer,
  findUndelivered,
  type Range,
  updateArchive,
  updateFloor,
} from './retention.sql.ts';
import {
  eventsPerCallMax,
  type JournalArchiving,
  type JournalPruning,
  type RetentionBody,
} from './retention-forms.ts';

/** The consumer whose cursor a tenant must have before any of its history is archived or pruned. */
const requiredConsumer = 'context-adapter';

/**
 * Archives the oldest events that every consumer has confirmed and that are old enough. The decision takes effect at
 * once; the rows are moved afterwards in batches (apply-retention.ts). See docs/reference/journal.md#archive-and-prune.
 * @throws Refusal `retention_blocked_by_consumer`
 */
export async function archiveJournal(context: Context, body: RetentionBody): Promise<JournalArchiving> {
  return (await archiveUpTo(context, body)) ?? refuseWithoutConsumer();
}

/** Like `archiveJournal`, but returns undefined for a tenant without the required consumer. */
export async function archiveUpTo(
  context: Context,
  body: RetentionBody,
): Promise<JournalArchiving | undefined> {
  const { db, tenantId } = context;
  const floors = await lockJournalFloors(db, tenantId);
  const { archive_position: position, archive_sequence: sequence } = floors;
  const bounds = await boundsOf(context, body, { position, sequence });
  if (bounds === undefined) return undefined;
  const { minAgeSeconds } = bounds;
  const range = await archivableOf(context, bounds);
  if (range === undefined) return { archived: 0, ...floorsOf(floors), minAgeSeconds };
  await db.run(updateArchive(tenantId, range));
  const { events: archived } = range;
  const throughCursor = encodeCursor(range);
  emit(context, journalArchived, { entityId: tenantId }, { archived, throughCursor, minAgeSeconds });
  return { archived, ...floorsOf(floors), journalFloorCursor: throughCursor, minAgeSeconds };
}

/**
 * Deletes the oldest events of the archive: the only operation that loses data. From then on they can't be read; the
 * rows are deleted afterwards, in batches.
 * @throws Refusal `retention_blocked_by_consumer`
 */
export async function pruneJournal(context: Context, body: RetentionBody): Promise<JournalPruning> {
  const { db, tenantId } = context;
  const floors = await lockJournalFloors(db, tenantId);
  const { floor_position: position, floor_sequence: sequence } = floors;
  const bounds = (await boundsOf(context, body, { position, sequence })) ?? refuseWithoutConsumer();
  const range = await db.row(findPrunable(tenantId, bounds));
  if (range === undefined) return { pruned: 0, archiveFloorCursor: floorsOf(floors).archiveFloorCursor };
  await db.run(updateFloor(tenantId, range));
  const { events: pruned } = range;
  const throughCursor = encodeCursor(range);
  const { minAgeSeconds } = bounds;
  emit(context, journalPruned, { entityId: tenantId }, { pruned, throughCursor, minAgeSeconds });
  return { pruned, archiveFloorCursor: throughCursor };
}

/**
 * The last event that may be archived. The deliveries of an event are written before it is visible here, so undelivered
 * events are queried after the bounds.
 */
async function archivableOf({ db, tenantId }: Context, bounds: Bounds): Promise<Range | undefined> {
  const range = await db.row(findArchivable(tenantId, bounds));
  const waiting = range && (await db.row(findUndelivered(tenantId)));
  if (range === undefined || waiting === undefined || isBehind(waiting, range)) return range;
  return db.row(findArchivable(tenantId, { ...bounds, before: waiting }));
}

function refuseWithoutConsumer(): never {
  return fail('retention_blocked_by_consumer', { consumer: requiredConsumer });
}

/**
 * Events that a consumer has not confirmed are kept. The floor is locked, so no cursor is reset in the meantime.
 * @returns undefined for a tenant without the required consumer
 */
async function boundsOf(
  { db, tenantId, settings }: Context,
  { beforeSeconds, maxEvents }: RetentionBody,
  after: JournalPosition,
): Promise<Bounds | undefined> {
  if ((await db.row(findConsumer(tenantId, requiredConsumer))) === undefined) return undefined;
  const { horizon, ...slowest } = (await db.row(findSlowestConsumer(tenantId))) as JournalPosition & {
    horizon: number;
  };
  return {
    after,
    through: slowest,
    before: { position: horizon, sequence: 0 },
    minAgeSeconds: beforeSeconds ?? settings.CP_JOURNAL_RETENTION_MIN_AGE_SECONDS,
    eventsMax: maxEvents ?? eventsPerCallMax,
  };
}
