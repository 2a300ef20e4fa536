import type { Context } from '../context.ts';
import { eventOf, type JournalEvent } from '../journal/event.ts';
import type { Job, JobTools } from '../../service/job.ts';
import {
  type DeliveryFailure,
  type DueEventRow,
  deleteDelivered,
  deleteDue,
  updateFailedDeliveries,
  lockDue,
} from './outbox.sql.ts';

/** Takes one event further. It may come again: whoever receives it tells repeats by its id. */
export type OutboxSink = (event: JournalEvent) => Promise<void>;

const errorLengthMax = 500;

/**
 * Delivers what the outbox holds (core, section 19): the row that was written with each event is deleted when the event
 * is delivered. One that fails is tried again later, each time after a longer wait, and set aside after the last.
 * @param sink absent where nobody waits for events outside of the journal: they are ticked off
 */
export function deliverOutbox({ pool, settings, log }: JobTools<Context>, sink: OutboxSink | undefined): Job {
  const batchMax = settings.CP_OUTBOX_BATCH_SIZE;
  const look = createLook();
  return {
    name: 'outbox',
    batchMax,
    run: () => look(sink === undefined ? tickOff : (after) => send(sink, after)),
  };

  async function tickOff(afterSequence: number): Promise<Looked> {
    const { handled, newest } = (await pool.row(deleteDue(batchMax, afterSequence))) as Looked;
    return { handled, newest };
  }

  async function send(sink: OutboxSink, afterSequence: number): Promise<Looked> {
    const rows = await pool.rows(lockDue(batchMax, afterSequence, settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS));
    const outcomes = await Promise.all(rows.map((row) => deliver(sink, row)));
    const delivered = outcomes.filter(({ error }) => error === undefined);
    const failures = outcomes.flatMap(({ sequence, error }) =>
      error === undefined ? [] : [{ sequence, error }],
    );
    if (delivered.length > 0) await pool.run(deleteDelivered(delivered.map(({ sequence }) => sequence)));
    if (failures.length > 0) await setBack(failures);
    const first = rows.filter(({ attempts }) => attempts === 1);
    return { handled: rows.length, newest: first.length > 0 ? Math.max(...first.map(sequenceOf)) : null };
  }

  async function setBack(failures: DeliveryFailure[]): Promise<void> {
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

interface Looked {
  handled: number;
  /** The last of the new rows that were found, if any. */
  newest: number | null;
}

/** Looks from the beginning, for what was committed late, are twenty times as far apart as they take, in these bounds. */
const wholeLookPauseMs = { min: 1000, max: 60_000 };

/**
 * Lets each batch begin behind the one before. From the beginning, each passed over all that was deleted while an old
 * transaction was open anywhere: beside 8,000 new events a second, 118,000 were waiting after 20 s.
 */
function createLook() {
  let afterSequence = 0;
  let nextWholeLookAt = 0;
  return async (handle: (afterSequence: number) => Promise<Looked>): Promise<number> => {
    const startedAt = performance.now();
    const isWhole = startedAt >= nextWholeLookAt;
    const { handled, newest } = await handle(isWhole ? 0 : afterSequence);
    const pauseMs = Math.min((performance.now() - startedAt) * 20, wholeLookPauseMs.max);
    if (isWhole) nextWholeLookAt = startedAt + Math.max(pauseMs, wholeLookPauseMs.min);
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
    return { sequence: row.sequence, error: text.slice(0, errorLengthMax) };
  }
}
