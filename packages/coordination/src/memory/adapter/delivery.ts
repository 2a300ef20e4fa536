import type { Pool } from '@baton/kernel/database/db';
import { Refusal } from '@baton/kernel/http/refusal';
import { eventText } from '@baton/values/event-text';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { everyEvent, positionOf, readPageAfter } from '../../ledger/journal/read-pages.ts';
import type { Memory, MemoryItem } from '../gateway/memory.ts';
import type { Settings } from '../settings.ts';
import {
  type Consumer,
  type Failure,
  releaseTurn,
  type TurnEnd,
  type TurnRow,
  updateParked,
  updateServed,
} from './adapter-turns.sql.ts';
import { memoryItemOf } from './memory-item.ts';

export const consumer: Consumer = 'context-adapter';

/** A request to the memory service is split at this size; a single item may be larger. */
const requestBytesMax = 1_000_000;

export interface DeliveryTools {
  readonly pool: Pool;
  readonly memory: Memory;
  readonly settings: Settings;
}

/** How long the tenants of a crashed process stay leased. */
export const leaseSeconds = 10;

/** The result of a turn. */
export interface TurnReport {
  readonly hasMore: boolean;
  /** The tenant's next turn, which may follow at once under the same lease; undefined if the tenant was released. */
  readonly next: TurnRow | undefined;
  /** Why the turn failed; undefined when it succeeded or was aborted. */
  readonly failure: Failure | undefined;
}

/**
 * Delivers the next events of one tenant: reads them, sends them in batches, and moves the cursor past the confirmed
 * ones. No database connection is held during a request. See docs/reference/memory.md#context-adapter.
 * @param signal aborts when the process stops or the lease is lost
 * @param mayGoOn called at the end of a turn that left events unsent: whether to keep the tenant for another turn
 * @throws Error of the database; the lease then expires
 */
export async function deliverTurn(
  tools: DeliveryTools,
  turn: TurnRow,
  signal: AbortSignal,
  mayGoOn: () => boolean,
): Promise<TurnReport> {
  const page = await readTurn(tools, turn);
  if ('failure' in page) return park(tools, turn, nothingOf(turn), page.failure);
  const batch = batchOf(page.rows);
  const sending = new Sending(tools, turn.tenant_id, batch, signal);
  const failure = await sending.run();
  const reached = placeBefore(page.rows, batch[sending.delivered]?.row) ?? positionOf(turn);
  const { delivered, duplicates } = sending;
  if (failure !== undefined)
    return park(tools, turn, { reached, hasMore: true, delivered, duplicates }, failure);
  const isWhole = delivered === batch.length;
  const end = { reached, hasMore: page.hasMore || !isWhole, delivered, duplicates };
  // If the turn was aborted before anything was confirmed, the tenant keeps its state, on hold or not.
  if (!isWhole && delivered === 0) return giveBack(tools, turn, end.hasMore);
  return serve(tools, turn, end, isWhole && page.hasMore && mayGoOn());
}

async function serve(
  tools: DeliveryTools,
  turn: TurnRow,
  end: TurnEnd,
  goesOn: boolean,
): Promise<TurnReport> {
  const isWritten = await tools.pool.run(updateServed(consumer, turn, end, goesOn ? leaseSeconds : 0));
  if (isWritten === 0) return giveBack(tools, turn, end.hasMore);
  const next = goesOn ? { ...turn, ...end.reached, is_failing: false } : undefined;
  return { hasMore: end.hasMore, next, failure: undefined };
}

async function giveBack({ pool }: DeliveryTools, turn: TurnRow, hasMore: boolean): Promise<TurnReport> {
  await pool.run(releaseTurn(consumer, turn));
  return { hasMore, next: undefined, failure: undefined };
}

type Page = { rows: readonly EventRow[]; hasMore: boolean } | { failure: Failure };

/** A cursor at the origin means the oldest event that still exists. */
async function readTurn({ pool, settings }: DeliveryTools, turn: TurnRow): Promise<Page> {
  const from = turn.position === 0 ? undefined : positionOf(turn);
  const request = {
    tenantId: turn.tenant_id,
    filter: everyEvent,
    limit: settings.CP_CONTEXT_TENANT_BATCH_SIZE,
  };
  try {
    const { rows, hasMore } = await readPageAfter(pool, from, request);
    return { rows, hasMore };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const reason = `the journal can't be read from the cursor: ${error.code}; :rebuild moves the cursor back`;
    return { failure: { reason, eventId: null, waitSeconds: 0 } };
  }
}

async function park(
  { pool, settings }: DeliveryTools,
  turn: TurnRow,
  end: TurnEnd,
  failure: Failure,
): Promise<TurnReport> {
  const backoff = {
    baseSeconds: settings.CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS,
    maxSeconds: settings.CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS,
  };
  if ((await pool.run(updateParked(consumer, turn, end, failure, backoff))) === 0)
    await pool.run(releaseTurn(consumer, turn));
  return { hasMore: false, next: undefined, failure };
}

const nothingOf = (turn: TurnRow): TurnEnd => ({
  reached: positionOf(turn),
  hasMore: true,
  delivered: 0,
  duplicates: 0,
});

interface BatchItem {
  readonly row: EventRow;
  readonly item: MemoryItem;
  readonly bytes: number;
}

function batchOf(rows: readonly EventRow[]): BatchItem[] {
  return rows.flatMap((row) => {
    const item = memoryItemOf(row);
    return item === undefined ? [] : [{ row, item, bytes: Buffer.byteLength(JSON.stringify(item)) }];
  });
}

/** The last event before `stop`, sent or not; without `stop`, the last event. Undefined if there is no such event. */
function placeBefore(rows: readonly EventRow[], stop: EventRow | undefined): JournalPosition | undefined {
  const end = stop === undefined ? rows.length : rows.indexOf(stop);
  const last = rows[end - 1];
  return last && positionOf(last);
}

/** Thrown during a delivery: nothing more is sent in this turn. */
class Stopped extends Error {
  readonly failure: Failure | undefined;

  constructor(failure: Failure | undefined) {
    super('stopped');
    this.failure = failure;
  }
}

/**
 * Sends one tenant's batch in order. A refused slice, as a whole or in part, is bisected until the culprit is alone,
 * which takes at most 15 requests for one culprit among 100 items. No slice is sent twice.
 */
class Sending {
  readonly #tools: DeliveryTools;
  readonly #namespace: string;
  readonly #batch: readonly BatchItem[];
  readonly #signal: AbortSignal;
  /** The items that were confirmed in this turn. */
  readonly #isConfirmed: boolean[];
  duplicates = 0;

  constructor(tools: DeliveryTools, tenantId: string, batch: readonly BatchItem[], signal: AbortSignal) {
    this.#tools = tools;
    this.#namespace = `${tools.settings.CP_CONTEXT_NAMESPACE_PREFIX}${tenantId}`;
    this.#batch = batch;
    this.#signal = signal;
    this.#isConfirmed = batch.map(() => false);
  }

  /** The number of items at the beginning of the batch that are confirmed without a gap: the cursor may pass them. */
  get delivered(): number {
    const gap = this.#isConfirmed.indexOf(false);
    return gap === -1 ? this.#batch.length : gap;
  }

  /** @returns the reason for an early stop; undefined if it completed or was aborted */
  async run(): Promise<Failure | undefined> {
    try {
      for (let from = 0; from < this.#batch.length; ) {
        const to = this.#sliceEnd(from);
        await this.#send(from, to);
        from = to;
      }
      return undefined;
    } catch (error) {
      if (error instanceof Stopped) return error.failure;
      throw error;
    }
  }

  /** As many items as fit into one request, at least one. */
  #sliceEnd(from: number): number {
    const { CP_CONTEXT_BATCH_SIZE: itemsMax } = this.#tools.settings;
    let [end, bytes] = [from + 1, this.#batch[from]?.bytes ?? 0];
    for (; end < this.#batch.length && end - from < itemsMax; end += 1) {
      bytes += this.#batch[end]?.bytes ?? 0;
      if (bytes > requestBytesMax) break;
    }
    return end;
  }

  async #send(from: number, to: number): Promise<void> {
    if (this.#isConfirmed.slice(from, to).every(Boolean)) return;
    const refusal = await this.#sendSlice(from, to);
    if (refusal === undefined) return;
    if (to - from === 1) throw this.#stop(`the memory service refuses this event: ${refusal}`);
    const middle = Math.ceil((from + to) / 2);
    await this.#send(from, middle);
    await this.#send(middle, to);
  }

  /** Sends one slice. @returns the reason for a refusal; undefined if everything is confirmed */
  async #sendSlice(from: number, to: number): Promise<string | undefined> {
    if (this.#signal.aborted) throw new Stopped(undefined);
    const items = this.#batch.slice(from, to).map(({ item }) => item);
    const result = await this.#tools.memory.ingest(this.#namespace, items, this.#signal);
    if (result.kind === 'failed') {
      if (this.#signal.aborted) throw new Stopped(undefined);
      throw this.#stop(result.reason, result.retryAfterSeconds);
    }
    if (result.kind === 'refused') return result.reason;
    const before = this.#isConfirmed.slice(from, to).filter(Boolean).length;
    this.duplicates += Math.max(0, result.duplicates - before);
    for (const [index, refusal] of result.refusals.entries())
      if (refusal === null) this.#isConfirmed[from + index] = true;
    return result.refusals.find((refusal) => refusal !== null) ?? undefined;
  }

  /**
   * The first unconfirmed item is either the culprit or the first with an unknown state.
   */
  #stop(reason: string, waitSeconds = 0): Stopped {
    const eventId = this.#batch[this.delivered]?.row.id ?? null;
    return new Stopped({ reason: eventText(reason.replaceAll('\0', '\uFFFD')), eventId, waitSeconds });
  }
}
