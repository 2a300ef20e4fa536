import type { Db } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { Refusal } from '@baton/kernel/refusal';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import { everyEvent, isBehind, readPageAfter } from '../../ledger/journal/reading.ts';
import { messageOf, type StreamMessage } from './message.ts';

/** A stream that has reached the end of the journal and gets what the shared reader finds. */
export interface Follower {
  /** Gets all events up to `through`, in order; some of them it may have already. */
  deliver(messages: readonly StreamMessage[], through: JournalPosition): void;
  /** The place that it has reached can't be read on from. */
  fail(error: Refusal): void;
}

export interface TailOptions {
  readonly db: Db;
  readonly tenantId: string;
  readonly log: Logger;
  /** How often the journal is read without a wake. */
  readonly pollMs: number;
}

export const batchMax = 200;
/** The newest messages, for streams that reach the end a little later: they need not read the database again. */
const keptMax = 600;
/** Wakes that come faster share one read. */
const readPauseMs = 10;
const heldBackPauseMsMax = 200;
const failedPauseMs = 1000;

/** The one reader of a tenant's journal in this process. It reads only while a stream follows it. */
export class TenantTail {
  readonly #options: TailOptions;
  readonly #followers = new Set<Follower>();
  #kept: StreamMessage[] = [];
  /** `#kept` holds everything from here to `#through`. */
  #keptFrom: JournalPosition | undefined;
  #through: JournalPosition | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isWoken = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #heldBackPauseMs = readPauseMs;

  constructor(options: TailOptions) {
    this.#options = options;
  }

  /**
   * Begins to follow from `at`, if the messages from there on are still kept.
   * @returns false when the follower must read the database first
   */
  follow(follower: Follower, at: JournalPosition): boolean {
    const isIdle = this.#followers.size === 0;
    if (isIdle || this.#through === undefined || this.#keptFrom === undefined) {
      this.#kept = [];
      this.#keptFrom = at;
      this.#through = at;
    }
    if (isBehind(this.#keptFrom, at)) return false;
    this.#followers.add(follower);
    follower.deliver(this.#kept, this.#through);
    // An event that was announced since the follower's last read is read at once (W2).
    this.wake();
    return true;
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size > 0) return;
    clearTimeout(this.#timer);
    this.#isWoken = false;
    this.#kept = [];
  }

  /** Something may have been committed. */
  wake(): void {
    if (this.#followers.size === 0 || this.#isWoken) return;
    this.#isWoken = true;
    if (!this.#isReading) this.#readAfter(Math.max(0, this.#readAt + readPauseMs - performance.now()));
  }

  #readAfter(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), waitMs);
  }

  async #read(): Promise<void> {
    if (this.#isReading || this.#through === undefined) return;
    this.#isReading = true;
    this.#isWoken = false;
    this.#readAt = performance.now();
    let waitMs: number;
    try {
      const pauseMs = await this.#readBatch(this.#through);
      waitMs = this.#isWoken ? Math.min(pauseMs, readPauseMs) : pauseMs;
    } catch (error) {
      if (error instanceof Refusal) for (const follower of this.#followers) follower.fail(error);
      this.#options.log.warn(
        { err: error, tenantId: this.#options.tenantId },
        'the journal could not be read',
      );
      waitMs = failedPauseMs;
    }
    this.#isReading = false;
    if (this.#followers.size > 0) this.#readAfter(waitMs);
  }

  /** @returns how long to wait for the next read without a wake, in ms */
  async #readBatch(from: JournalPosition): Promise<number> {
    const { db, tenantId, pollMs } = this.#options;
    const page = await readPageAfter(db, from, {
      tenantId,
      filter: everyEvent,
      limit: batchMax,
      asksHeldBack: true,
    });
    // While this page was read all followers left, and a new one may have begun at another place.
    if (this.#through !== from || this.#followers.size === 0) return 0;
    const messages = page.rows.map(messageOf);
    this.#through =
      page.hasMore && page.next !== undefined ? page.next : { position: page.horizon, sequence: 0 };
    this.#keep(messages);
    for (const follower of this.#followers) follower.deliver(messages, this.#through);
    if (page.hasMore) return 0;
    this.#heldBackPauseMs = messages.length > 0 ? readPauseMs : this.#heldBackPauseMs * 2;
    // When the open transaction ends that holds back committed events, nothing announces them.
    if (page.isHeldBack) return Math.min(this.#heldBackPauseMs, heldBackPauseMsMax, pollMs);
    this.#heldBackPauseMs = readPauseMs;
    return pollMs;
  }

  #keep(messages: readonly StreamMessage[]): void {
    this.#kept.push(...messages);
    const gone = this.#kept.splice(0, Math.max(0, this.#kept.length - keptMax)).at(-1);
    if (gone !== undefined) this.#keptFrom = { position: gone.position, sequence: gone.sequence };
  }
}
