import type { WorkerTools } from '../background.ts';
import type { JournalEvent } from '../journal/events.api.ts';
import { eventOf } from '../journal/events.ts';
import type { Job } from '../worker.ts';
import { type DueEventRow, deleteDelivered, deleteDue, noteFailures, takeDue } from './outbox.sql.ts';

/** Takes one event further. It may come again: whoever receives it tells repeats by its id. */
export type OutboxSink = (event: JournalEvent) => Promise<void>;

const errorLengthMax = 500;

/**
 * Delivers what the outbox holds (core, section 19): the row that was written with each event is deleted when the event
 * is delivered. One that fails is tried again later, each time after a longer wait, and set aside after the last.
 * @param sink absent where nobody waits for events outside of the journal: they are ticked off
 */
export function deliverOutbox({ pool, settings, log }: WorkerTools, sink: OutboxSink | undefined): Job {
  const batchMax = settings.CP_OUTBOX_BATCH_SIZE;
  const name = 'outbox';
  if (sink === undefined) return { name, batchMax, run: () => pool.run(deleteDue(batchMax)) };
  return {
    name,
    batchMax,
    async run() {
      const rows = await pool.rows(takeDue(batchMax, settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS));
      const outcomes = await Promise.all(rows.map((row) => deliver(sink, row)));
      const delivered = outcomes.filter(({ error }) => error === undefined);
      const failures = outcomes.flatMap(({ sequence, error }) =>
        error === undefined ? [] : [{ sequence, error }],
      );
      if (delivered.length > 0) await pool.run(deleteDelivered(delivered.map(({ sequence }) => sequence)));
      if (failures.length > 0) await setBack(failures);
      return rows.length;
    },
  };

  async function setBack(failures: { sequence: number; error: string }[]): Promise<void> {
    const dead = await pool.rows(
      noteFailures(failures, {
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

async function deliver(sink: OutboxSink, row: DueEventRow): Promise<{ sequence: number; error?: string }> {
  try {
    await sink(eventOf(row));
    return { sequence: row.sequence };
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unknown';
    return { sequence: row.sequence, error: text.slice(0, errorLengthMax) };
  }
}
