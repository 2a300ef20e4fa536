import type { Sink } from '../sinks/sink.ts';
import type { DueEventRow } from './deliveries.sql.ts';
import type { Delivery } from './delivery.ts';
import type { Places } from './places.ts';
import { type Outcome, sendEvent } from './send-event.ts';
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

/** Sends the events of a delivery. @returns the outcome of each, in their order */
export async function attemptDelivery(attempts: Attempts, delivery: Delivery): Promise<readonly Outcome[]> {
  const { rows, isAgain } = delivery;
  const unsent = withholdSuspects(delivery, attempts.attemptsMax);
  if (unsent !== undefined) return unsent;
  const sending = rows.map((row) =>
    attempts.places.run(isAgain, () => attemptEvent(attempts, delivery, row)),
  );
  return Promise.all(sending);
}

/**
 * Withholds events that may have crashed a worker: events that were together are tried one by one, and an event that
 * was tried alone in as many crashes as it has attempts becomes a dead letter.
 * @returns undefined for a delivery that may be sent
 */
function withholdSuspects({ rows, isUnsettled }: Delivery, attemptsMax: number): Outcome[] | undefined {
  const [{ attempts, unsettled }] = rows as [DueEventRow];
  if (!isUnsettled) return undefined;
  if (rows.length > 1) return rows.map(() => ({ kind: 'returned', isAlone: true }));
  // In the first crash it may have been together with others, and one of those at fault.
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
 * Decides whether the event or the sink is at fault: if the sink responded, the event is, provided others succeeded.
 */
function assignBlame(rest: SinkRest, outcome: Outcome, row: DueEventRow, beganAtMs: number): Outcome {
  if (outcome.kind === 'returned') return outcome;
  if (outcome.kind === 'delivered') {
    rest.delivered(beganAtMs);
    return outcome;
  }
  const isItsOwn = outcome.kind === 'failed' || (outcome.blame !== 'sink' && rest.deliveredAround(beganAtMs));
  if (outcome.kind === 'away' && outcome.blame === 'type') rest.refusedType(row);
  else if (isItsOwn) rest.failed(row);
  else if (outcome.kind === 'away') rest.away(outcome.pauseMs);
  return isItsOwn ? { kind: 'failed', error: outcome.error, cause: outcome.cause } : outcome;
}
