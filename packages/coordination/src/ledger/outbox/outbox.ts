import { setTimeout } from 'node:timers/promises';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { eventOf, type JournalEvent } from '../journal/event.ts';
import {
  type DeliveryFailure,
  type DueEventRow,
  deleteDelivered,
  deleteDue,
  lockDue,
  type Places,
  updateFailedDeliveries,
} from './outbox.sql.ts';

/**
 * Delivers one event to a consumer, at least once: repeats have the same id.
 * @param signal aborts when the delivery is over: answered, or too late, which counts as failed
 */
export type OutboxSink = (event: JournalEvent, signal: AbortSignal) => Promise<void>;

const errorLengthMax = 500;
/** A delivery has failed after this, or after half of the lock where that is less: before another worker tries it. */
const sendMsMax = 10_000;
/** Deliveries that take longer go on beside the batches that follow. */
const batchWaitMsMax = 250;
/** Deliveries under way at most; those tried before take up to half, so that what is new gets through. */
const batchesUnderWayMax = 4;

/**
 * Delivers what the outbox holds (core, section 19): the row that was written with each event is deleted when the event
 * is delivered. A failed delivery is tried again, each time after a longer wait, and set aside after the last attempt.
 * Those under way when the worker is closed are made again by another one.
 * @param sink absent where nothing consumes events outside of the journal: then the rows are only deleted
 */
export function deliverOutbox({ pool, settings, log }: JobTools<Context>, sink: OutboxSink | undefined): Job {
  const batchMax = settings.CP_OUTBOX_BATCH_SIZE;
  const sendMs = Math.min(sendMsMax, settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS * 500);
  const underWay = new Map<DueEventRow, Promise<void>>();
  let settled: Outcome[] = [];
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
    await record();
    const rows = await pool.rows(
      lockDue(freePlaces(), afterSequence, settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS),
    );
    const batch = rows.map((row) => {
      const sending = deliver(sink, row, sendMs).then((outcome) => {
        underWay.delete(row);
        settled.push(outcome);
      });
      underWay.set(row, sending);
      return sending;
    });
    const sent = rows.length > 0 ? Promise.all(batch) : Promise.race(underWay.values());
    if (underWay.size > 0) await atMost(batchWaitMsMax, sent);
    await record();
    const first = rows.filter(({ attempts }) => attempts === 1);
    return { handled: rows.length, newest: first.length > 0 ? Math.max(...first.map(sequenceOf)) : null };
  }

  function freePlaces(): Places {
    const placesMax = batchMax * batchesUnderWayMax;
    const againCount = [...underWay.keys()].filter(({ attempts }) => attempts > 1).length;
    const rowsMax = Math.min(batchMax, placesMax - underWay.size);
    return { rowsMax, againMax: Math.min(rowsMax, placesMax / 2 - againCount) };
  }

  async function record(): Promise<void> {
    const outcomes = settled;
    settled = [];
    const delivered = outcomes.filter(({ error }) => error === undefined);
    const failures = outcomes.flatMap(({ error, ...sent }) =>
      error === undefined ? [] : [{ ...sent, error }],
    );
    if (delivered.length > 0) await pool.run(deleteDelivered(delivered.map(({ sequence }) => sequence)));
    if (failures.length > 0) await reschedule(failures);
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

interface Outcome {
  sequence: number;
  attempts: number;
  error?: string;
}

async function deliver(sink: OutboxSink, row: DueEventRow, sendMs: number): Promise<Outcome> {
  const sent = { sequence: row.sequence, attempts: row.attempts };
  const stop = new AbortController();
  const late = Symbol('late');
  try {
    const answer = await Promise.race([sink(eventOf(row), stop.signal), after(sendMs, stop.signal, late)]);
    return answer === late ? { ...sent, error: `no answer within ${sendMs} ms` } : sent;
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unknown';
    return { ...sent, error: storableText(text.slice(0, errorLengthMax)) };
  } finally {
    stop.abort();
  }
}

/** Resolves after some time, or at once when it is stopped; keeps no process alive. */
async function after<T>(ms: number, signal: AbortSignal, value: T): Promise<T> {
  return setTimeout(ms, value, { signal, ref: false }).catch(() => value);
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([work, after(ms, stop.signal, undefined)]);
  stop.abort();
}

/** PostgreSQL stores neither NUL nor half of a pair, which a cut may leave: all failures of the batch would be lost. */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
