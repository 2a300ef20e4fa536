import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { eventOf, type JournalEvent } from '../journal/event.ts';
import {
  type DeliveryFailure,
  type DueEventRow,
  deleteDelivered,
  deleteDue,
  lockDue,
  updateFailedDeliveries,
} from './outbox.sql.ts';

/** Delivers one event to a consumer, at least once: repeats have the same id. */
export type OutboxSink = (event: JournalEvent) => Promise<void>;

const errorLengthMax = 500;

/**
 * Delivers what the outbox holds (core, section 19): the row that was written with each event is deleted when the event
 * is delivered. A failed delivery is tried again, each time after a longer wait, and set aside after the last attempt.
 * @param sink absent where nothing consumes events outside of the journal: then the rows are only deleted
 */
export function deliverOutbox({ pool, settings, log }: JobTools<Context>, sink: OutboxSink | undefined): Job {
  const batchMax = settings.CP_OUTBOX_BATCH_SIZE;
  const scan = createScan();
  return {
    name: 'outbox',
    batchMax,
    run: () => scan(sink === undefined ? discard : (after) => send(sink, after)),
  };

  async function discard(afterSequence: number): Promise<Scanned> {
    const { handled, newest } = (await pool.row(deleteDue(batchMax, afterSequence))) as Scanned;
    return { handled, newest };
  }

  async function send(sink: OutboxSink, afterSequence: number): Promise<Scanned> {
    const rows = await pool.rows(lockDue(batchMax, afterSequence, settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS));
    const outcomes = await Promise.all(rows.map((row) => deliver(sink, row)));
    const delivered = outcomes.filter(({ error }) => error === undefined);
    const failures = outcomes.flatMap(({ sequence, error }) =>
      error === undefined ? [] : [{ sequence, error }],
    );
    if (delivered.length > 0) await pool.run(deleteDelivered(delivered.map(({ sequence }) => sequence)));
    if (failures.length > 0) await reschedule(failures);
    const first = rows.filter(({ attempts }) => attempts === 1);
    return { handled: rows.length, newest: first.length > 0 ? Math.max(...first.map(sequenceOf)) : null };
  }

  async function reschedule(failures: DeliveryFailure[]): Promise<void> {
    const dead = await pool.rows(
      updateFailedDeliveries(failures, {
        attemptsMax: settings.CP_OUTBOX_MAX_ATTEMPTS,
        baseSeconds: settings.CP_OUTBOX_BACKOFF_BASE_SECONDS,
        maxSeconds: settings.CP_OUTBOX_BACKOFF_MAX_SECONDS,
      }),
    );
    log.warn({ failures: failures.length, firstError: failures[0]?.error }, 'events could not be delivered');
    for (const { event_sequence: sequence } of dead)
      log.error({ sequence }, 'an event is set aside: it could not be delivered');
  }
}

interface Scanned {
  handled: number;
  /** The last of the new rows that were found, if any. */
  newest: number | null;
}

/** Full scans find rows that were committed late. The pause between two is 20 times their duration, in these bounds. */
const fullScanPauseMs = { min: 1000, max: 60_000 };

/**
 * Lets each batch begin after the one before. A batch from the beginning skips all that was deleted since the oldest open
 * transaction of the cluster began: at 8,000 new events a second, 118,000 were waiting after 20 s.
 */
function createScan() {
  let afterSequence = 0;
  let nextFullScanAt = 0;
  return async (handle: (afterSequence: number) => Promise<Scanned>): Promise<number> => {
    const startedAt = performance.now();
    const isFull = startedAt >= nextFullScanAt;
    const { handled, newest } = await handle(isFull ? 0 : afterSequence);
    const pauseMs = Math.min((performance.now() - startedAt) * 20, fullScanPauseMs.max);
    if (isFull) nextFullScanAt = startedAt + Math.max(pauseMs, fullScanPauseMs.min);
    afterSequence = newest ?? afterSequence;
    return handled;
  };
}

const sequenceOf = ({ sequence }: { sequence: number }) => sequence;

async function deliver(sink: OutboxSink, row: DueEventRow): Promise<{ sequence: number; error?: string }> {
  try {
    await sink(eventOf(row));
    return { sequence: row.sequence };
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unknown';
    return { sequence: row.sequence, error: storableText(text.slice(0, errorLengthMax)) };
  }
}

/** PostgreSQL stores neither NUL nor half of a pair, which a cut may leave: all failures of the batch would be lost. */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
