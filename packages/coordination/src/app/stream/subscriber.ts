import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Db } from '@baton/kernel/db';
import { isLegacy, type JournalCursor, type JournalPosition } from '../../ledger/journal/cursor.ts';
import { typePatternsOf } from '../../ledger/journal/event-types.ts';
import { everyEvent, isBehind, readPageAfter } from '../../ledger/journal/reading.ts';
import type { Caller } from '../../service/caller.ts';
import { readViewer } from '../../service/sight/sight.ts';
import { type StreamEnd, streamEndOf } from './close-codes.ts';
import type { Limiter } from './limiter.ts';
import { messageOf, type StreamMessage } from './message.ts';
import { batchMax, type Follower, type TenantTail } from './tenant-tail.ts';

export interface SubscriberOptions {
  readonly ws: WebSocket;
  /** What `ws` writes to. */
  readonly socket: Duplex;
  readonly db: Db;
  readonly caller: Caller;
  readonly credential: string;
  readonly after: JournalCursor | undefined;
  readonly typePrefixes: readonly string[] | undefined;
  readonly workspaceId: string | undefined;
  readonly tail: TenantTail;
  /** Bounds how many streams of this process read pages at once. */
  readonly pageReads: Limiter;
  /** Called when this stream ends because its history is lost. */
  refusedCursor(): void;
}

/** What may be queued in memory for one slow client; beyond it, nothing more is read for it. */
export const queuedBytesMax = 1024 * 1024;

/**
 * One open stream. It reads the journal by pages up to its end, then follows the tenant's shared reader. A client that
 * reads too slowly leaves the shared reader and goes on by pages, at its own speed.
 */
export class Subscriber implements Follower {
  readonly caller: Caller;
  readonly credential: string;
  readonly #options: SubscriberOptions;
  #cursor: JournalCursor | undefined;
  #isFollowing = false;
  /** Whether it shows a part of the tree of workspaces only. */
  #isNarrow = false;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.caller = options.caller;
    this.credential = options.credential;
    this.#cursor = options.after;
    options.ws.once('close', () => this.#options.tail.leave(this));
  }

  get #isOpen(): boolean {
    return this.#options.ws.readyState === this.#options.ws.OPEN;
  }

  end({ code, reason }: StreamEnd): void {
    this.#options.tail.leave(this);
    this.#options.ws.close(code, reason);
  }

  /** Sends what the journal holds, then follows it. A failure ends the stream with its close code. */
  async run(): Promise<void> {
    try {
      await this.#catchUp();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Ends the stream with the close code of what went wrong. */
  fail(error: unknown): void {
    const end = streamEndOf(error);
    if (end.reason === 'cursor_from_other_history') this.#options.refusedCursor();
    this.end(end);
  }

  /** Looks again how much of the tree the principal sees; if that has changed, the store decides what comes next. */
  async lookAgain(): Promise<void> {
    const { db, caller, workspaceId } = this.#options;
    const viewerId = await readViewer({ db, tenantId: caller.tenantId, caller });
    const isNarrow = workspaceId !== undefined || viewerId !== null;
    if (isNarrow === this.#isNarrow) return;
    this.#isNarrow = isNarrow;
    this.#fallBehind();
  }

  deliver(messages: readonly StreamMessage[], through: JournalPosition): void {
    // Only the store knows the tree of workspaces: what is new is read from it.
    if (this.#isNarrow && messages.some((message) => !this.#hasPassed(message))) return this.#fallBehind();
    for (const message of messages) {
      if (this.#isTooFull) return this.#fallBehind();
      this.#send(message);
    }
    if (this.#hasPassed(through)) return;
    this.#cursor = through;
  }

  async #catchUp(): Promise<void> {
    const { db, tail, pageReads, caller, typePrefixes, workspaceId = null } = this.#options;
    const typePatterns = typePatternsOf(typePrefixes);
    while (this.#isOpen) {
      await this.#drained();
      const viewerId = await readViewer({ db, tenantId: caller.tenantId, caller });
      this.#isNarrow = workspaceId !== null || viewerId !== null;
      const filter = { ...everyEvent, typePatterns, workspaceId, viewerId };
      const page = await pageReads.run(() =>
        readPageAfter(db, this.#cursor, { tenantId: caller.tenantId, filter, limit: batchMax }),
      );
      for (const row of page.rows) {
        if (this.#isTooFull) await this.#drained();
        if (!this.#isOpen) return;
        this.#send(messageOf(row));
      }
      const end: JournalPosition =
        page.hasMore && page.next !== undefined ? page.next : { position: page.horizon, sequence: 0 };
      this.#cursor = end;
      if (!this.#isOpen) return;
      if (page.hasMore) continue;
      // Set first: `follow` delivers what the shared reader has kept, which may already be too much for this client.
      this.#isFollowing = true;
      if (tail.follow(this, end)) return;
      this.#isFollowing = false;
    }
  }

  #send(message: StreamMessage): void {
    if (this.#hasPassed(message)) return;
    this.#cursor = { position: message.position, sequence: message.sequence };
    const { ws, typePrefixes } = this.#options;
    if (typePrefixes !== undefined && !typePrefixes.some((prefix) => message.type.startsWith(prefix))) return;
    ws.send(message.bytes(), { binary: false });
  }

  #hasPassed(place: JournalPosition): boolean {
    return this.#cursor !== undefined && !isLegacy(this.#cursor) && !isBehind(place, this.#cursor);
  }

  get #isTooFull(): boolean {
    return this.#options.socket.writableLength > queuedBytesMax;
  }

  #fallBehind(): void {
    if (!this.#isFollowing) return;
    this.#isFollowing = false;
    this.#options.tail.leave(this);
    void this.run();
  }

  /** Resolves when the client has read what was queued for it, or is gone. */
  async #drained(): Promise<void> {
    const { socket } = this.#options;
    if (!socket.writableNeedDrain) return;
    await new Promise<void>((done) => {
      const end = () => {
        socket.off('drain', end).off('close', end);
        done();
      };
      socket.on('drain', end).on('close', end);
    });
  }
}
