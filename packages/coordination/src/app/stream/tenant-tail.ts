import type { Db } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import { everyEvent, isBehind, readPageAfter } from '../../ledger/journal/reading.ts';
import { messageOf, type StreamMessage } from './message.ts';

/** A socket that has come to the end of the journal and takes what the shared reader finds. */
export interface Follower {
  /** Everything up to `through`, in order; what the follower has already is among it at times. */
  deliver(messages: readonly StreamMessage[], through: JournalPosition): void;
}

export interface TailOptions {
  readonly db: Db;
  readonly tenantId: string;
  readonly log: Logger;
  /** How often to look without being woken. */
  readonly pollMs: number;
}

export const batchMax = 200;
/** What followers may come back to without reading the store: the newest messages. */
const keptMax = 600;
/** Wakes that come faster are answered together. */
const readPauseMs = 10;
const heldBackPauseMsMax = 200;
const failedPauseMs = 1000;

/** The one reader of a tenant's journal in this process. It reads only while somebody follows it. */
export class TenantTail {
  readonly #options: TailOptions;
  readonly #followers = new Set<Follower>();
  #kept: StreamMessage[] = [];
  /** Behind here all that is older than `through` is kept. */
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
   * Begins to follow from `at`, if what lies between it and the reader is still kept.
   * @returns false when the store must be read for it first
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
    // Whatever was announced between the follower's last look and now is looked for at once (W2).
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
      this.#options.log.warn(
        { err: error, tenantId: this.#options.tenantId },
        'the journal could not be read',
      );
      waitMs = failedPauseMs;
    }
    this.#isReading = false;
    if (this.#followers.size > 0) this.#readAfter(waitMs);
  }

  /** @returns how long to wait for the next look unless somebody wakes it, in ms */
  async #readBatch(from: JournalPosition): Promise<number> {
    const { db, tenantId, pollMs } = this.#options;
    const page = await readPageAfter(db, from, {
      tenantId,
      filter: everyEvent,
      limit: batchMax,
      asksHeldBack: true,
    });
    // Everybody left meanwhile, and perhaps somebody else began elsewhere.
    if (this.#through !== from || this.#followers.size === 0) return 0;
    const messages = page.rows.map(messageOf);
    this.#through =
      page.hasMore && page.next !== undefined ? page.next : { position: page.horizon, sequence: 0 };
    this.#keep(messages);
    for (const follower of this.#followers) follower.deliver(messages, this.#through);
    if (page.hasMore) return 0;
    this.#heldBackPauseMs = messages.length > 0 ? readPauseMs : this.#heldBackPauseMs * 2;
    // What is committed but held back by another transaction is announced by nobody once that one ends.
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
