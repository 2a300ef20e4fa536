import { setTimeout } from 'node:timers/promises';
import { withoutAddresses } from '@baton/kernel/outbound/without-addresses';
import { eventOf } from '../journal/event.ts';
import { type Sink, SinkAway } from '../sinks/sink.ts';
import type { DueEventRow } from './deliveries.sql.ts';

/** The outcome of one attempt. */
export type Outcome =
  | { readonly kind: 'delivered' }
  /** It counts as an attempt, unless it was not sent. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly cause?: unknown;
      readonly isUnsent?: boolean;
    }
  /** It doesn't count as an attempt. */
  | {
      readonly kind: 'away';
      readonly error: string;
      readonly cause?: unknown;
      readonly pauseMs: number | undefined;
      readonly blame: SinkAway['blame'];
    }
  /**
   * Not started, or aborted because the worker is closed; `isAlone` has it tried apart from the delivery's other
   * events.
   */
  | { readonly kind: 'returned'; readonly isAlone?: boolean };

const errorLengthMax = 500;
/** An aborted sink may still report that it was never connected. */
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
  const late: Outcome = { kind: 'failed', error: `no answer within ${sink.timeoutMs} ms` };
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

/** Operators of the tenant can read the text; the network error is only logged. */
function outcomeOf(error: unknown): Outcome {
  const message = error instanceof Error ? error.message : 'unknown';
  const text = storableText(withoutAddresses(message).slice(0, errorLengthMax));
  const { cause } = error instanceof Error ? error : {};
  if (!(error instanceof SinkAway)) return { kind: 'failed', error: text, cause };
  return { kind: 'away', error: text, cause, pauseMs: error.pauseMs, blame: error.blame };
}

/** Resolves after some time, or at once when it is stopped; keeps no process alive. */
export async function after<T>(ms: number, signal: AbortSignal, value: T): Promise<T> {
  return setTimeout(ms, value, { signal, ref: false }).catch(() => value);
}

/** Resolves when `signal` aborts, and never after `over` did. */
function aborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}

/** PostgreSQL stores neither NUL nor half of a surrogate pair, which a cut may leave: the whole batch would fail. */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
