import { setTimeout } from 'node:timers/promises';
import { withoutAddresses } from '@baton/kernel/outbound/without-addresses';
import { eventOf } from '../journal/event.ts';
import type { Places } from '../sinks/places.ts';
import { type Sink, SinkAway, SinkPostponed, SinkRefused, SinkUnfinished } from '../sinks/sink.ts';
import type { Delivery } from './claim-deliveries.ts';
import type { DueEventRow } from './deliveries.sql.ts';
import type { SinkRest } from './sink-rest.ts';

const crashedEachTime = 'its worker ended during every attempt';

interface Attempts {
  readonly sink: Sink;
  readonly rest: SinkRest;
  readonly places: Places;
  /** Aborts when the worker is closed. */
  readonly closing: AbortSignal;
  readonly attemptsMax: number;
}

/** Sends the events of a delivery. @returns the outcome of each, in the same order */
export async function attemptDelivery(attempts: Attempts, delivery: Delivery): Promise<readonly Outcome[]> {
  const { rows, isAgain } = delivery;
  const unsent = withholdSuspects(delivery, attempts.attemptsMax);
  if (unsent !== undefined) return unsent;
  const sending = rows.map((row) =>
    attempts.places.run({ isAgain, tenantId: row.tenant_id }, () => attemptEvent(attempts, delivery, row)),
  );
  return Promise.all(sending);
}

/**
 * Withholds events that may have crashed a worker: events of the same delivery are retried one by one, and an event
 * that was sent alone in as many crashes as there are allowed attempts becomes a dead letter.
 * @returns undefined for a delivery that may be sent
 */
function withholdSuspects({ rows, isUnsettled }: Delivery, attemptsMax: number): Outcome[] | undefined {
  const [{ attempts, unsettled }] = rows as [DueEventRow];
  if (!isUnsettled) return undefined;
  if (rows.length > 1) return rows.map(() => ({ kind: 'returned', isAlone: true }));
  // A single crash isn't blamed on the event: it may have been delivered with others, and one of those may have been at
  // fault.
  const isOver = unsettled > 1 && attempts > attemptsMax;
  return isOver ? [{ kind: 'failed', error: crashedEachTime, isUnsent: true }] : undefined;
}

async function attemptEvent(
  { sink, rest, closing }: Attempts,
  { beginUntilMs }: Delivery,
  row: DueEventRow,
): Promise<Outcome> {
  const beganAtMs = performance.now();
  if (closing.aborted || beganAtMs > beginUntilMs || !rest.begin(row)) return { kind: 'returned' };
  const outcome = await sendEvent(sink, row, closing);
  rest.end(row);
  return assignBlame(rest, outcome, row, beganAtMs);
}

/**
 * Decides whether the event or the sink is at fault: it is the event if the sink responded and other events were
 * delivered.
 */
function assignBlame(rest: SinkRest, outcome: Outcome, row: DueEventRow, beganAtMs: number): Outcome {
  if (outcome.kind === 'returned' || (outcome.kind === 'failed' && outcome.isFinal)) return outcome;
  if (outcome.kind === 'delivered' || outcome.kind === 'postponed') {
    const shows = outcome.kind === 'delivered' ? 'up' : outcome.shows;
    if (shows === 'up') rest.delivered(beganAtMs);
    else if (shows === 'unclear') rest.failed(row);
    return outcome;
  }
  const isItsOwn = outcome.kind === 'failed' || (outcome.blame !== 'sink' && rest.deliveredAround(beganAtMs));
  if (outcome.kind === 'away' && outcome.blame === 'type') rest.refusedType(row);
  else if (isItsOwn) rest.failed(row);
  else if (outcome.kind === 'away') rest.away(outcome.pauseMs);
  if (!isItsOwn || outcome.kind === 'failed') return outcome;
  return { kind: 'failed', error: outcome.error, cause: outcome.cause };
}

/** The outcome of one attempt. */
export type Outcome =
  | { readonly kind: 'delivered' }
  /** Counts as an attempt, unless the event was not sent. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly cause?: unknown;
      readonly isUnsent?: boolean;
      /** The event becomes a dead letter without further attempts. */
      readonly isFinal?: boolean;
    }
  /** Doesn't count as an attempt. */
  | {
      readonly kind: 'away';
      readonly error: string;
      readonly cause?: unknown;
      readonly pauseMs: number | undefined;
      readonly blame: SinkAway['blame'];
    }
  /** Part of the event is delivered later. Even if this counts as an attempt, it makes no dead letter. */
  | {
      readonly kind: 'postponed';
      readonly error: string;
      readonly waitMs: number;
      readonly isAttempt: boolean;
      readonly shows: SinkPostponed['shows'];
    }
  /**
   * Not started, or aborted because the worker is closed; with `isAlone`, it is retried separately from the delivery's
   * other events.
   */
  | { readonly kind: 'returned'; readonly isAlone?: boolean };

const errorLengthMax = 500;
/** How long to wait after an abort for the sink's error, which may still report that the sink was never connected. */
const lastWordMsMax = 100;

/**
 * Delivers one event within the timeout of its sink.
 * @param closing aborts when the worker is closed
 */
export async function sendEvent(sink: Sink, row: DueEventRow, closing: AbortSignal): Promise<Outcome> {
  const stop = new AbortController();
  const answered = sink.deliver(eventOf(row), stop.signal).then(
    (): Outcome => ({ kind: 'delivered' }),
    (error: unknown) => outcomeOf(error),
  );
  const late: Outcome = { kind: 'failed', error: `no response within ${sink.timeoutMs} ms` };
  const timer = new AbortController();
  const closed = aborted(closing, timer.signal).then((): Outcome => ({ kind: 'returned' }));
  try {
    const outcome = await Promise.race([answered, after(sink.timeoutMs, timer.signal, late), closed]);
    stop.abort();
    if (outcome !== late) return outcome;
    const lastWord = await Promise.race([answered, after(lastWordMsMax, timer.signal, late)]);
    return lastWord.kind === 'away' ? lastWord : late;
  } finally {
    timer.abort();
  }
}

/** Operators of the tenant can read this message; the network error is only logged. */
function outcomeOf(error: unknown): Outcome {
  if (error instanceof SinkUnfinished) return { kind: 'returned' };
  const message = error instanceof Error ? error.message : 'unknown';
  const text = storableText(withoutAddresses(message).slice(0, errorLengthMax));
  const { cause } = error instanceof Error ? error : {};
  if (error instanceof SinkPostponed) {
    const { waitMs, isAttempt, shows } = error;
    return { kind: 'postponed', error: text, waitMs, isAttempt, shows };
  }
  if (error instanceof SinkRefused) return { kind: 'failed', error: text, cause, isFinal: true };
  if (!(error instanceof SinkAway)) return { kind: 'failed', error: text, cause };
  return { kind: 'away', error: text, cause, pauseMs: error.pauseMs, blame: error.blame };
}

/** Resolves after `ms`, or immediately when `signal` aborts; doesn't keep the process alive. */
export async function after<T>(ms: number, signal: AbortSignal, value: T): Promise<T> {
  return setTimeout(ms, value, { signal, ref: false }).catch(() => value);
}

/** Resolves when `signal` aborts, unless `over` aborted first. */
function aborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}

/**
 * PostgreSQL stores neither NUL nor half of a surrogate pair, which truncation may leave; either would make the whole
 * batch fail.
 */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
