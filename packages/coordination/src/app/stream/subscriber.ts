import type { Db } from '@baton/kernel/database/db';
import { isLegacy, type JournalCursor, type JournalPosition } from '../../ledger/journal/cursor.ts';
import { typePatternsOf } from '../../ledger/journal/event-types.ts';
import { everyEvent, isBehind, readPageAfter } from '../../ledger/journal/read-pages.ts';
import type { Caller } from '../../service/caller.ts';
import { readViewer } from '../../service/sight/sight.ts';
import { type Batch, joinFrames, messagesOf, type Part, type TypePrefixes } from './batch.ts';
import { type StreamEnd, streamEndOf } from './close-codes.ts';
import { messageOf, type StreamMessage } from './message.ts';
import type { Outlet } from './outlet.ts';
import { type PageReaders, queuedBytesMin } from './page-readers.ts';
import { batchMax, type Follower, type TenantTail } from './tenant-tail.ts';

export interface SubscriberOptions {
  readonly outlet: Outlet;
  readonly db: Db;
  readonly caller: Caller;
  readonly credential: string;
  readonly after: JournalCursor | undefined;
  readonly typePrefixes: TypePrefixes;
  readonly workspaceId: string | undefined;
  readonly tail: TenantTail;
  readonly pageReaders: PageReaders;
  /** Called when this stream ends because its history is lost. */
  refusedCursor(): void;
}

/** The maximum number of bytes queued in memory for one slow client; beyond it, no more is read for it. */
export const queuedBytesMax = 1024 * 1024;
/** The minimum that is read again for a client that received less than a page. */
const pageMin = 8;

/**
 * One open stream. It reads the journal by pages up to its end, then follows the tenant's shared reader. A client that
 * reads too slowly leaves the shared reader and continues by pages, at its own speed.
 */
export class Subscriber implements Follower {
  readonly caller: Caller;
  readonly credential: string;
  readonly workspaceId: string | undefined;
  readonly #options: SubscriberOptions;
  #cursor: JournalCursor | undefined;
  #isFollowing = false;
  /** Whether the stream shows only a part of the tree of workspaces. */
  #isNarrow = false;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.caller = options.caller;
    this.credential = options.credential;
    this.workspaceId = options.workspaceId;
    this.#cursor = options.after;
    options.outlet.onceClosed(() => this.#options.tail.leave(this));
  }

  end(why: StreamEnd): void {
    this.#options.tail.leave(this);
    this.#options.outlet.end(why);
  }

  /** Sends the journal's content, then follows it. A failure ends the stream with its close code. */
  async run(): Promise<void> {
    const { pageReaders } = this.#options;
    pageReaders.enter();
    try {
      await this.#catchUp();
    } catch (error) {
      this.fail(error);
    } finally {
      pageReaders.leave();
    }
  }

  /** Ends the stream with the close code of the failure. */
  fail(error: unknown): void {
    const end = streamEndOf(error);
    if (end.reason === 'cursor_from_other_history') this.#options.refusedCursor();
    this.end(end);
  }

  /**
   * Sets which part of the tree the stream's principal sees now; after a change, events are read from the store again.
   */
  see(viewerId: string | null): void {
    const isNarrow = this.#options.workspaceId !== undefined || viewerId !== null;
    if (isNarrow === this.#isNarrow) return;
    this.#isNarrow = isNarrow;
    this.#fallBehind();
  }

  deliver(batch: Batch): void {
    const { messages, through } = batch;
    if (messages.length > 0) {
      // Only the store knows the tree of workspaces, so a narrowed stream reads new events from it.
      if (this.#isNarrow && !this.#hasPassed(messages.at(-1) as StreamMessage)) return this.#fallBehind();
      if (!this.#sendAll(this.#partsOf(batch), queuedBytesMax)) return this.#fallBehind();
    }
    if (!this.#hasPassed(through)) this.#cursor = through;
  }

  /**
   * Joined parts are for streams that need the whole batch; a stream that has already sent a part of it gets the rest
   * in its own copy.
   */
  #partsOf(batch: Batch): readonly Part[] {
    const { messages } = batch;
    const { typePrefixes } = this.#options;
    if (!this.#hasPassed(messages[0] as StreamMessage)) return batch.parts(typePrefixes);
    const rest = messages.filter((message) => !this.#hasPassed(message));
    return joinFrames(messagesOf(rest, typePrefixes));
  }

  async #catchUp(): Promise<void> {
    const { outlet, pageReaders, caller } = this.#options;
    let limit = batchMax;
    while (outlet.isOpen) {
      await outlet.drained();
      if (await this.#followFromMemory()) return;
      const page = await pageReaders.run(caller.tenantId, () => this.#readPage(limit));
      if (!outlet.isOpen) return;
      const parts = joinFrames(page.messages);
      const isAllSent = this.#sendAll(parts, pageReaders.queuedBytesMax(queuedBytesMax));
      if (!isAllSent) {
        // The rest is read again when it can be sent, instead of being queued for a client that may never read it.
        const sent = page.messages.filter((message) => this.#hasPassed(message)).length;
        limit = Math.max(sent, pageMin);
        continue;
      }
      limit = batchMax;
      this.#cursor = page.end;
      // The queued part of a page is this client's own copy, which counts against the limit of the page readers until
      // it is sent; until then, the stream remains a page reader.
      if (page.hasMore || outlet.queuedBytes > queuedBytesMin) continue;
      if (this.#follow(page.end)) return;
    }
  }

  /** Avoids reading a page if the shared reader still has all events after the cursor. */
  async #followFromMemory(): Promise<boolean> {
    const { db, caller, tail, pageReaders, workspaceId } = this.#options;
    const cursor = this.#cursor;
    if (cursor === undefined || isLegacy(cursor) || workspaceId !== undefined || !tail.knows(cursor))
      return false;
    const readsSight = () => readViewer({ db, tenantId: caller.tenantId, caller });
    this.#isNarrow = caller.kind === 'human' && (await pageReaders.run(caller.tenantId, readsSight)) !== null;
    return !this.#isNarrow && tail.knows(cursor) && this.#follow(cursor);
  }

  #follow(at: JournalPosition): boolean {
    if (!this.#options.outlet.isOpen) return false;
    // Set first: `follow` delivers the shared reader's kept messages, which may already exceed this client's limit.
    this.#isFollowing = true;
    if (this.#options.tail.follow(this, at)) return true;
    this.#isFollowing = false;
    return false;
  }

  async #readPage(limit: number) {
    const { db, caller, typePrefixes, workspaceId = null } = this.#options;
    const { tenantId } = caller;
    const viewerId = await readViewer({ db, tenantId, caller });
    this.#isNarrow = workspaceId !== null || viewerId !== null;
    const filter = { ...everyEvent, typePatterns: typePatternsOf(typePrefixes), workspaceId, viewerId };
    const { rows, hasMore, next, horizon } = await readPageAfter(db, this.#cursor, {
      tenantId,
      filter,
      limit,
    });
    const end: JournalPosition = hasMore && next !== undefined ? next : { position: horizon, sequence: 0 };
    return { messages: rows.map(messageOf), hasMore, end };
  }

  /** @returns false if the client's queue is full; the cursor is then after the last sent event */
  #sendAll(parts: readonly Part[], bytesMax: number): boolean {
    const { outlet } = this.#options;
    let isAllSent = true;
    const send = () => {
      for (const { bytes, last } of parts) {
        isAllSent = outlet.queuedBytes <= bytesMax;
        if (!isAllSent) return;
        outlet.write(bytes);
        this.#cursor = { position: last.position, sequence: last.sequence };
      }
    };
    if (parts.length > 1) outlet.together(send);
    else send();
    return isAllSent;
  }

  #hasPassed(place: JournalPosition): boolean {
    return this.#cursor !== undefined && !isLegacy(this.#cursor) && !isBehind(place, this.#cursor);
  }

  #fallBehind(): void {
    if (!this.#isFollowing) return;
    this.#isFollowing = false;
    this.#options.tail.leave(this);
    void this.run();
  }
}
