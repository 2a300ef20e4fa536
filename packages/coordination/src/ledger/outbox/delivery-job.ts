import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import type { Sink } from '../sinks/sink.ts';
import { createDeliveryClaims } from './claim-deliveries.ts';
import {
  type DueEventRow,
  type Remainder,
  type Room,
  type Settled,
  settleDeliveries,
} from './deliveries.sql.ts';
import type { Distribute } from './distribution.ts';
import { createPlaces } from './places.ts';
import { after, type Outcome, send } from './send-event.ts';
import { createRest } from './sink-rest.ts';

type Tools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log'>;

/** Deliveries that take longer go on beside the batches that follow. */
const batchWaitMsMax = 250;
const endedByIt = 'each time its worker ended before there was an answer';
/** What is under way when the worker is closed has this long to be answered. */
const closingMsMax = 1000;

/** Events of one tenant that were taken together, and are settled together. */
interface Delivery {
  readonly rows: readonly DueEventRow[];
  readonly isAgain: boolean;
  /** A worker that had it before ended meanwhile. */
  readonly isUnsettled: boolean;
  /** What is not begun by then is given back: another worker may take it when its lock ends. */
  readonly beginUntilMs: number;
}

/** An event with what became of it. */
interface Sent {
  readonly row: DueEventRow;
  readonly outcome: Outcome;
}

interface Finished {
  readonly settled: Settled;
  /** What the network said of the first failure. */
  readonly cause: unknown;
  readonly remainders: readonly Remainder[];
}

/**
 * Delivers to one sink what waits for it (core, section 19), beside all other sinks: its own queue, its own retries,
 * its own rests. A failed delivery is tried again, each time after a longer wait, and set aside after the last attempt.
 * What a worker that is killed had under way is delivered again when its lock ends, with the same ids.
 */
export function deliverTo(sink: Sink, distribute: Distribute, tools: Tools): Job {
  const { settings, pool, log } = tools;
  const batchMax = settings.CP_OUTBOX_BATCH_SIZE;
  const lockSeconds = settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS;
  const baseMs = settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 1000;
  const rest = createRest({ baseMs, maxMs: settings.CP_OUTBOX_BACKOFF_MAX_SECONDS * 1000 });
  const places = createPlaces(() => (rest.isTrial ? 1 : sink.concurrency));
  const take = createDeliveryClaims(sink.name, tools);
  const closing = new AbortController();
  const inHand = new Map<Delivery, Promise<void>>();
  const inHandMax = 2 * Math.max(batchMax, sink.concurrency);
  let finished: Finished[] = [];
  return { name: `outbox ${sink.name}`, batchMax, run, close };

  async function run(): Promise<number> {
    const isMoreInOutbox = await distribute();
    await record();
    const due = rest.isTrial ? await take.first(room()) : await batch();
    for (const rows of due) begin(rows);
    if (inHand.size > 0) await atMost(batchWaitMsMax, Promise.race(inHand.values()));
    await record();
    return isMoreInOutbox || due.length > 0 || inHand.size > 0 ? batchMax : 0;
  }

  /** Of all tenants but those that are left alone, and one delivery of one whose rest is over. */
  async function batch(): Promise<readonly DueEventRow[][]> {
    const toTry = rest.tenantToTry();
    const tried = toTry === undefined ? [] : await take.firstOfTenant(toTry, room());
    const { withUnsettled, ...more } = room();
    const others = await take.batch({
      ...more,
      withUnsettled: withUnsettled && tried.length === 0,
      exceptTenants: rest.restingTenants(),
    });
    return [...tried, ...others];
  }

  /** How many more events may be taken; those tried before take up to half, so that what is new gets through. */
  function room(): Room {
    const held = [...inHand.keys()];
    const withUnsettled = !held.some(({ isUnsettled }) => isUnsettled);
    if (rest.waitMs() > 0 || (rest.isTrial && held.length > 0))
      return { againMax: 0, newMax: 0, withUnsettled };
    if (rest.isTrial) return { againMax: 1, newMax: 1, withUnsettled };
    const count = (deliveries: readonly Delivery[]) =>
      deliveries.reduce((events, { rows }) => events + rows.length, 0);
    const free = Math.min(batchMax, inHandMax - count(held));
    const again = count(held.filter(({ isAgain }) => isAgain));
    return {
      againMax: Math.max(0, Math.min(free, inHandMax / 2 - again)),
      newMax: Math.max(0, free),
      withUnsettled,
    };
  }

  function begin(rows: readonly DueEventRow[]): void {
    const [{ is_again: isAgain, unsettled }] = rows as [DueEventRow];
    const delivery: Delivery = {
      rows,
      isAgain,
      isUnsettled: unsettled > 0,
      beginUntilMs: performance.now() + lockSeconds * 500,
    };
    const done = outcomesOf(delivery).then((outcomes) => {
      inHand.delete(delivery);
      finished.push(finishedOf(delivery, outcomes));
    });
    inHand.set(delivery, done);
  }

  async function outcomesOf(delivery: Delivery): Promise<readonly Outcome[]> {
    const { rows, isAgain } = delivery;
    const sending = () => rows.map((row) => places.run(isAgain, () => attempt(delivery, row)));
    return unsentOf(delivery) ?? (await Promise.all(sending()));
  }

  /**
   * What of a delivery that a worker may have ended by is not sent: events that were together are tried one by one, and
   * one that was tried alone in as many lives of a worker as it has attempts is set aside.
   */
  function unsentOf({ rows, isUnsettled }: Delivery): Outcome[] | undefined {
    const [{ attempts, unsettled }] = rows as [DueEventRow];
    if (!isUnsettled) return undefined;
    if (rows.length > 1) return rows.map(() => ({ kind: 'returned', isAlone: true }));
    // The first of them may have been beside others, and one of those to blame.
    const isOver = unsettled > 1 && attempts > settings.CP_OUTBOX_MAX_ATTEMPTS;
    return isOver ? [{ kind: 'failed', error: endedByIt, isUnsent: true }] : undefined;
  }

  async function attempt({ beginUntilMs }: Delivery, row: DueEventRow): Promise<Outcome> {
    const beganAt = performance.now();
    if (closing.signal.aborted || beganAt > beginUntilMs || !rest.begin(row)) return { kind: 'returned' };
    const outcome = await send(sink, row, closing.signal);
    rest.end(row);
    return judged(outcome, row, beganAt);
  }

  /** Whether the event is to blame, or the sink: where the sink answered, it is the event if others got through. */
  function judged(outcome: Outcome, row: DueEventRow, beganAt: number): Outcome {
    if (outcome.kind === 'returned') return outcome;
    if (outcome.kind === 'delivered') {
      rest.delivered(beganAt);
      return outcome;
    }
    const isItsOwn = outcome.kind === 'failed' || (outcome.blame !== 'sink' && rest.deliveredAround(beganAt));
    if (outcome.kind === 'away' && outcome.blame === 'type') rest.refusedType(row);
    else if (isItsOwn) rest.failed(row);
    else if (outcome.kind === 'away') rest.away(outcome.pauseMs);
    return isItsOwn ? { kind: 'failed', error: outcome.error, cause: outcome.cause } : outcome;
  }

  function finishedOf({ rows }: Delivery, outcomes: readonly Outcome[]): Finished {
    const [{ place, lead, locked_until }] = rows as [DueEventRow];
    const sent = rows.map((row, n) => ({ row, outcome: outcomes[n] as Outcome }));
    const left = sent.filter(({ outcome }) => outcome.kind !== 'delivered');
    const parts = Map.groupBy(left, partOf);
    return {
      settled: { place, lead, locked_until },
      cause: left.flatMap(({ outcome }) => ('cause' in outcome ? [outcome.cause] : []))[0],
      remainders: [...parts.values()].map(remainderOf),
    };
  }

  /**
   * What waits together: failed events count their attempts each, and those of a refused type have rests of their own.
   */
  function partOf({ row, outcome }: Sent): string {
    const isAlone = outcome.kind === 'failed' || (outcome.kind === 'returned' && outcome.isAlone);
    if (isAlone) return `alone ${row.sequence}`;
    return isOfType({ row, outcome }) ? `type ${row.type}` : '';
  }

  function isOfType({ row, outcome }: Sent): boolean {
    return (outcome.kind === 'away' && outcome.blame === 'type') || rest.typeWaitMs(row) > 0;
  }

  function remainderOf(part: readonly Sent[]): Remainder {
    const [{ row, outcome }] = part as [Sent];
    const errors = part.flatMap(({ outcome }) => ('error' in outcome ? [outcome.error] : []));
    const waitMs = Math.max(
      rest.waitMs(),
      rest.tenantWaitMs(row),
      rest.typeWaitMs(row),
      isOfType({ row, outcome }) ? baseMs : 0,
    );
    return {
      place: row.place,
      of_lead: row.lead,
      event_sequences: part.map(({ row }) => row.sequence),
      oldest_position: Math.min(...part.map(({ row }) => row.position)),
      attempts: row.attempts - 1,
      unsettled: row.unsettled,
      wait_seconds: waitMs / 1000,
      is_dead: false,
      last_error: errors[0] ?? null,
      ...(outcome.kind === 'failed' && retryOf(row.attempts - (outcome.isUnsent ? 1 : 0))),
    };
  }

  function retryOf(attempts: number): Partial<Remainder> {
    const wait = settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 2 ** Math.min(attempts - 1, 30);
    return {
      attempts,
      unsettled: 0,
      wait_seconds: Math.min(settings.CP_OUTBOX_BACKOFF_MAX_SECONDS, wait),
      is_dead: attempts >= settings.CP_OUTBOX_MAX_ATTEMPTS,
    };
  }

  /** Kept until it succeeds: without it all would be delivered again. */
  async function record(): Promise<void> {
    const recorded = [...finished];
    if (recorded.length === 0) return;
    const remainders = recorded.flatMap((one) => one.remainders);
    const dead = await pool.rows(
      settleDeliveries(
        recorded.map(({ settled }) => settled),
        remainders,
      ),
    );
    finished = finished.slice(recorded.length);
    const firstError = remainders.find(({ last_error }) => last_error !== null)?.last_error;
    if (firstError !== undefined)
      log.warn(
        { sink: sink.name, deliveries: remainders.length, firstError, ...causeOf(recorded) },
        'events could not be delivered',
      );
    for (const { event_sequence: sequence } of dead)
      log.error({ sink: sink.name, sequence }, 'an event is set aside: it could not be delivered');
  }

  async function close(): Promise<void> {
    await atMost(closingMsMax, Promise.all(inHand.values()));
    closing.abort();
    await Promise.all(inHand.values());
    await record().catch((error: unknown) =>
      log.warn({ err: error, sink: sink.name }, 'deliveries are made again'),
    );
    await sink.close();
  }
}

function causeOf(finished: readonly Finished[]): { err?: unknown } {
  const first = finished.find(({ cause }) => cause !== undefined);
  return first === undefined ? {} : { err: first.cause };
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([work, after(ms, stop.signal, undefined)]);
  stop.abort();
}
