import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { createPlaces, type Places } from '../sinks/places.ts';
import type { Sink } from '../sinks/sink.ts';
import { after, attemptDelivery } from './attempt-delivery.ts';
import {
  countEvents,
  createDelivery,
  createDeliveryClaims,
  type Delivery,
  type DeliveryClaims,
} from './claim-deliveries.ts';
import type { DueEventRow, Room } from './deliveries.sql.ts';
import { DeliveryResults } from './delivery-results.ts';
import type { Distribute } from './distribution.ts';
import { createRest, type SinkRest } from './sink-rest.ts';

type Tools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log'>;

/** Longer deliveries continue in parallel with the following batches. */
const batchWaitMsMax = 250;
/** The time that deliveries in progress may still take when the worker is closed. */
const closingMsMax = 1000;

/**
 * Delivers events to one sink, independently of other sinks: with its own queue, retries and pauses. A failed delivery
 * is retried with increasing delays and becomes a dead letter after the last attempt. If a worker is killed, its
 * deliveries in progress are repeated with the same ids when their lock ends. See docs/reference/journal.md#sinks.
 */
export function deliverTo(sink: Sink, distribute: Distribute, tools: Tools): Job {
  const delivery = new SinkDelivery(sink, distribute, tools);
  return {
    name: `outbox ${sink.name}`,
    batchMax: tools.settings.CP_OUTBOX_BATCH_SIZE,
    run: () => delivery.run(),
    close: () => delivery.close(),
  };
}

class SinkDelivery {
  readonly #sink: Sink;
  readonly #distribute: Distribute;
  readonly #tools: Tools;
  readonly #batchMax: number;
  readonly #inProgressMax: number;
  readonly #rest: SinkRest;
  readonly #places: Places;
  readonly #claims: DeliveryClaims;
  readonly #results: DeliveryResults;
  readonly #closing = new AbortController();
  readonly #inProgress = new Map<Delivery, Promise<void>>();

  constructor(sink: Sink, distribute: Distribute, tools: Tools) {
    const { settings } = tools;
    this.#sink = sink;
    this.#distribute = distribute;
    this.#tools = tools;
    this.#batchMax = settings.CP_OUTBOX_BATCH_SIZE;
    this.#inProgressMax = 2 * Math.max(this.#batchMax, sink.concurrency);
    const baseMs = settings.CP_OUTBOX_BACKOFF_BASE_SECONDS * 1000;
    this.#rest = createRest({ baseMs, maxMs: settings.CP_OUTBOX_BACKOFF_MAX_SECONDS * 1000 });
    this.#places = createPlaces(() => (this.#rest.isTrial ? 1 : sink.concurrency), sink.tenantConcurrency);
    this.#claims = createDeliveryClaims(sink.name, tools);
    this.#results = new DeliveryResults(sink.name, this.#rest, tools);
  }

  async run(): Promise<number> {
    const isMoreInOutbox = await this.#distribute();
    await this.#results.store();
    const due = this.#rest.isTrial ? await this.#claims.first(this.#room()) : await this.#claimBatch();
    for (const rows of due) this.#begin(rows);
    if (this.#inProgress.size > 0) await atMost(batchWaitMsMax, Promise.race(this.#inProgress.values()));
    await this.#results.store();
    return isMoreInOutbox || due.length > 0 || this.#inProgress.size > 0 ? this.#batchMax : 0;
  }

  async close(): Promise<void> {
    await atMost(closingMsMax, Promise.all(this.#inProgress.values()));
    this.#closing.abort();
    await Promise.all(this.#inProgress.values());
    const { log } = this.#tools;
    await this.#results
      .store()
      .catch((error: unknown) =>
        log.warn(
          { err: error, sink: this.#sink.name },
          'deliveries will be repeated: their results are lost',
        ),
      );
    await this.#sink.close();
  }

  /** Claims deliveries of all tenants except paused ones, and one delivery of a tenant whose pause has ended. */
  async #claimBatch(): Promise<readonly DueEventRow[][]> {
    const toTry = this.#rest.tenantToTry();
    const tried = toTry === undefined ? [] : await this.#claims.firstOfTenant(toTry, this.#room());
    const { withUnsettled, ...more } = this.#room();
    const room = {
      ...more,
      withUnsettled: withUnsettled && tried.length === 0,
      exceptTenants: this.#rest.restingTenants(),
    };
    const isShared = this.#sink.tenantConcurrency !== undefined;
    const others = await (isShared
      ? this.#claims.batchByTurns(room, this.#busyTenants())
      : this.#claims.batch(room));
    return [...tried, ...others];
  }

  /**
   * Tenants that already use their whole share of a sink with `tenantConcurrency`: their next events are claimed later.
   */
  #busyTenants(): string[] {
    const { tenantConcurrency } = this.#sink;
    if (tenantConcurrency === undefined) return [];
    const byTenant = Map.groupBy(this.#inProgress.keys(), ({ rows }) => rows[0]?.tenant_id ?? '');
    return [...byTenant].flatMap(([id, held]) => (countEvents(held) < tenantConcurrency ? [] : [id]));
  }

  /** The number of events that may still be claimed; retries use at most half, so that new events are not delayed. */
  #room(): Room {
    const held = [...this.#inProgress.keys()];
    const withUnsettled = !held.some(({ isUnsettled }) => isUnsettled);
    const { isTrial } = this.#rest;
    if (this.#rest.waitMs() > 0 || (isTrial && held.length > 0))
      return { againMax: 0, newMax: 0, withUnsettled };
    if (isTrial) return { againMax: 1, newMax: 1, withUnsettled };
    // In a sink with shares, the backlog of one tenant fills at most one share of each batch.
    const batchMax = this.#sink.tenantConcurrency ?? this.#batchMax;
    const free = Math.min(this.#batchMax, batchMax, this.#inProgressMax - countEvents(held));
    const again = countEvents(held.filter(({ isAgain }) => isAgain));
    return {
      againMax: Math.max(0, Math.min(free, this.#inProgressMax / 2 - again)),
      newMax: Math.max(0, free),
      withUnsettled,
    };
  }

  #begin(rows: readonly DueEventRow[]): void {
    const { CP_OUTBOX_LOCK_TIMEOUT_SECONDS: lockSeconds, CP_OUTBOX_MAX_ATTEMPTS: attemptsMax } =
      this.#tools.settings;
    const delivery = createDelivery(rows, lockSeconds);
    const attempts = {
      sink: this.#sink,
      rest: this.#rest,
      places: this.#places,
      closing: this.#closing.signal,
      attemptsMax,
    };
    const done = attemptDelivery(attempts, delivery).then((outcomes) => {
      this.#inProgress.delete(delivery);
      this.#results.add(delivery, outcomes);
    });
    this.#inProgress.set(delivery, done);
  }
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([work, after(ms, stop.signal, undefined)]);
  stop.abort();
}
