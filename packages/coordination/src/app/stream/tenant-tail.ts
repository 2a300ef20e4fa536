import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { isTemporary } from '@baton/kernel/http/command';
import type { Logger } from '@baton/kernel/process/log';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import { everyEvent, readPageAfter } from '../../ledger/journal/read-pages.ts';
import { Batch } from './batch.ts';
import { KeptMessages } from './kept-messages.ts';
import { messageOf } from './message.ts';

/** A stream at the end of the journal that gets the events of the shared reader. */
export interface Follower {
  /** Gets all events up to the end of the batch, in order; it may already have some of them. */
  deliver(batch: Batch): void;
  /** Called if the journal can no longer be read from the follower's position. */
  fail(error: unknown): void;
}

export interface TailOptions {
  readonly db: Db;
  readonly tenantId: string;
  readonly log: Logger;
  /** The interval of polls without a notification. */
  readonly pollMs: number;
  /** Returns the maximum number of bytes that this reader may keep in memory at the moment. */
  keptBytesMax(): number;
  /** Notifications within this time share one read. */
  readPauseMs(): number;
}

export const batchMax = 200;
const heldBackPauseMsMin = 5;
const heldBackPauseMsMax = 200;
const failedPauseMs = 1000;
/**
 * How long one turn of writing may take: writing to 10,000 sockets takes 100 ms, and the process serves requests in
 * between.
 */
const turnMsMax = 8;
/** The clock is read once per this many deliveries: reading it costs time, though less than writing to a socket. */
const deliveriesPerLook = 16;

/** The single reader of a tenant's journal in this process. It reads only while a stream follows it. */
export class TenantTail {
  readonly #options: TailOptions;
  readonly #followers = new Set<Follower>();
  #kept: KeptMessages | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isWoken = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #heldBackPauseMs = heldBackPauseMsMin;

  constructor(options: TailOptions) {
    this.#options = options;
  }

  /**
   * Starts to follow from `at`, if the later messages are still kept.
   * @returns false if the follower must read the database first
   */
  follow(follower: Follower, at: JournalPosition): boolean {
    const kept = this.#followers.size === 0 || this.#kept === undefined ? new KeptMessages(at) : this.#kept;
    if (!kept.holdsFrom(at)) return false;
    this.#kept = kept;
    this.#followers.add(follower);
    follower.deliver(new Batch(kept.after(at), kept.through));
    // An event that was announced since the follower's last read is read at once.
    this.wake();
    return true;
  }

  /** Whether a position certainly belongs to this history, and all later events are still kept. */
  knows(at: JournalPosition): boolean {
    return this.#followers.size > 0 && this.#kept !== undefined && this.#kept.knows(at);
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size > 0) return;
    clearTimeout(this.#timer);
    this.#isWoken = false;
    this.#kept = undefined;
  }

  /** Called when events may have been committed. */
  wake(): void {
    if (this.#followers.size === 0 || this.#isWoken) return;
    this.#isWoken = true;
    if (!this.#isReading) this.#readAfter(this.#untilNextRead());
  }

  #untilNextRead(): number {
    return this.#readAt + this.#options.readPauseMs() - performance.now();
  }

  #readAfter(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), Math.max(0, waitMs));
  }

  async #read(): Promise<void> {
    if (this.#isReading || this.#kept === undefined) return;
    this.#isReading = true;
    this.#isWoken = false;
    this.#readAt = performance.now();
    let waitMs: number;
    try {
      const pauseMs = await this.#readBatch(this.#kept);
      waitMs = this.#isWoken ? Math.min(pauseMs, this.#untilNextRead()) : pauseMs;
    } catch (error) {
      // A permanent failure ends the streams: otherwise the loss of events would go unnoticed. While the database is
      // unavailable, the streams wait for it.
      if (!isTemporary(error)) for (const follower of this.#followers) follower.fail(error);
      this.#options.log.warn(
        { err: error, tenantId: this.#options.tenantId },
        'the journal could not be read',
      );
      waitMs = failedPauseMs;
    }
    this.#isReading = false;
    if (this.#followers.size > 0) this.#readAfter(waitMs);
  }

  /** @returns the delay until the next read without a notification, in ms */
  async #readBatch(kept: KeptMessages): Promise<number> {
    const { db, tenantId, pollMs, keptBytesMax } = this.#options;
    const page = await readPageAfter(db, kept.through, {
      tenantId,
      filter: everyEvent,
      limit: batchMax,
      asksHeldBack: true,
    });
    // While this page was read, all followers may have left, and a new one may have started at another position.
    if (this.#kept !== kept) return 0;
    const end = page.hasMore && page.next !== undefined ? page.next : { position: page.horizon, sequence: 0 };
    const batch = new Batch(page.rows.map(messageOf), end);
    kept.add(batch, keptBytesMax());
    await this.#deliver(batch);
    if (page.hasMore) return 0;
    this.#heldBackPauseMs = batch.messages.length > 0 ? heldBackPauseMsMin : this.#heldBackPauseMs * 2;
    // The end of an open transaction that delays committed events causes no notification, so the journal is polled.
    if (page.isHeldBack) return Math.min(this.#heldBackPauseMs, heldBackPauseMsMax, pollMs);
    this.#heldBackPauseMs = heldBackPauseMsMin;
    return pollMs;
  }

  /**
   * Delivers a batch to the current followers. A stream that starts to follow in the meantime gets it from the kept
   * messages.
   */
  async #deliver(batch: Batch): Promise<void> {
    let turnBegan = performance.now();
    for (const [at, follower] of [...this.#followers].entries()) {
      if (this.#followers.has(follower)) follower.deliver(batch);
      if (at % deliveriesPerLook > 0 || performance.now() - turnBegan < turnMsMax) continue;
      await nextTurn();
      turnBegan = performance.now();
    }
  }
}
