import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import type { Sink } from '../sinks/sink.ts';
import { type DueEventRow, type Remainder, type Settled, settleDeliveries } from './deliveries.sql.ts';
import type { Distribute } from './distribution.ts';
import { createPlaces } from './places.ts';
import { after, type Outcome, send } from './sending.ts';
import { createRest } from './sink-rest.ts';
import { createTaking } from './taking.ts';

type Tools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log'>;

/** Deliveries that take longer go on beside the batches that follow. */
const batchWaitMsMax = 250;
/** What is under way when the worker is closed has this long to be answered. */
const closingMsMax = 1000;

/** Events of one tenant that were taken together, and are settled together. */
interface Delivery {
  readonly rows: readonly DueEventRow[];
  readonly isAgain: boolean;
  /** What is not begun by then is given back: another worker may take it when its lock ends. */
  readonly beginUntilMs: number;
}

interface Finished {
  readonly settled: Settled;
  readonly remainders: readonly Remainder[];
}

/**
 * Delivers to one sink what waits for it (core, section 19), beside all other sinks: its own queue, its own retries, its own
 * rests. A failed delivery is tried again, each time after a longer wait, and set aside after the last attempt. What a worker
 * that is killed had under way is delivered again when its lock ends, with the same ids.
 */
export function deliverTo(sink: Sink, distribute: Distribute, tools: Tools): Job {
  const { settings, pool, log } = tools;
  const batchMax = settings.CP_OUTBOX_BATCH_SIZE;
  const lockSeconds = settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS;
  const rest = createRest({
    baseMs: settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 1000,
    maxMs: settings.CP_OUTBOX_BACKOFF_MAX_SECONDS * 1000,
  });
  const places = createPlaces(() => (rest.isTrial ? 1 : sink.concurrency));
  const take = createTaking(sink.name, tools);
  const closing = new AbortController();
  const inHand = new Map<Delivery, Promise<void>>();
  const inHandMax = 2 * Math.max(batchMax, sink.concurrency);
  let finished: Finished[] = [];
  return { name: `outbox ${sink.name}`, batchMax, run, close };

  async function run(): Promise<number> {
    const isMoreInOutbox = await distribute();
    await record();
    const due = rest.isTrial ? await take.first(room()) : await take.batch(room());
    for (const rows of due) begin(rows);
    if (inHand.size > 0) await atMost(batchWaitMsMax, Promise.race(inHand.values()));
    await record();
    return isMoreInOutbox || due.length > 0 || inHand.size > 0 ? batchMax : 0;
  }

  /** How many more events may be taken; those tried before take up to half, so that what is new gets through. */
  function room() {
    if (rest.waitMs() > 0) return { againMax: 0, newMax: 0 };
    if (rest.isTrial) return inHand.size > 0 ? { againMax: 0, newMax: 0 } : { againMax: 1, newMax: 1 };
    const count = (deliveries: readonly Delivery[]) =>
      deliveries.reduce((events, { rows }) => events + rows.length, 0);
    const held = [...inHand.keys()];
    const free = Math.min(batchMax, inHandMax - count(held));
    const again = count(held.filter(({ isAgain }) => isAgain));
    return { againMax: Math.max(0, Math.min(free, inHandMax / 2 - again)), newMax: Math.max(0, free) };
  }

  function begin(rows: readonly DueEventRow[]): void {
    const delivery: Delivery = {
      rows,
      isAgain: rows[0]?.is_again === true,
      beginUntilMs: performance.now() + lockSeconds * 500,
    };
    const sending = Promise.all(
      rows.map((row) => places.run(delivery.isAgain, () => attempt(delivery, row))),
    );
    const done = sending.then((outcomes) => {
      inHand.delete(delivery);
      finished.push(finishedOf(delivery, outcomes));
    });
    inHand.set(delivery, done);
  }

  async function attempt(delivery: Delivery, row: DueEventRow): Promise<Outcome> {
    const beganAt = performance.now();
    if (closing.signal.aborted || rest.waitMs() > 0 || beganAt > delivery.beginUntilMs)
      return { kind: 'returned' };
    const outcome = await send(sink, row, closing.signal);
    if (outcome.kind === 'delivered') rest.delivered(beganAt);
    const isItsOwn =
      outcome.kind === 'failed' ||
      (outcome.kind === 'away' && outcome.mayBeTheEvent && rest.deliveredAround(beganAt));
    if (isItsOwn) rest.failed();
    else if (outcome.kind === 'away') rest.away(outcome.pauseMs);
    return isItsOwn ? { kind: 'failed', error: outcome.error } : outcome;
  }

  function finishedOf({ rows }: Delivery, outcomes: readonly Outcome[]): Finished {
    const [{ place, lead, locked_until, attempts }] = rows as [DueEventRow];
    const sent = rows.map((row, n) => ({ row, outcome: outcomes[n] as Outcome }));
    const part = (parts: readonly { row: DueEventRow }[], how: Partial<Remainder>): Remainder => ({
      place,
      of_lead: lead,
      event_sequences: parts.map(({ row }) => row.sequence),
      oldest_position: Math.min(...parts.map(({ row }) => row.position)),
      attempts,
      wait_seconds: rest.waitMs() / 1000,
      is_dead: false,
      last_error: null,
      ...how,
    });
    const failed = sent.map(({ row, outcome }) =>
      outcome.kind === 'failed'
        ? part([{ row }], { last_error: outcome.error, ...retryOf(attempts) })
        : undefined,
    );
    const back = sent.filter(({ outcome }) => outcome.kind === 'away' || outcome.kind === 'returned');
    const error = back.flatMap(({ outcome }) => ('error' in outcome ? [outcome.error] : []))[0] ?? null;
    const returned = back.length > 0 ? [part(back, { attempts: attempts - 1, last_error: error })] : [];
    return {
      settled: { place, lead, locked_until },
      remainders: [...failed.filter((one) => one !== undefined), ...returned],
    };
  }

  function retryOf(attempts: number): Pick<Remainder, 'wait_seconds' | 'is_dead'> {
    const wait = settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 2 ** Math.min(attempts - 1, 30);
    return {
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
        { sink: sink.name, deliveries: remainders.length, firstError },
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

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([work, after(ms, stop.signal, undefined)]);
  stop.abort();
}
