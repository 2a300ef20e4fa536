import type { Api } from '../client.ts';
import { BatonError } from '../errors.ts';
import type { JournalEvent } from '../generated/coordination-types.ts';
import type { Store } from '../store.ts';
import { backoffMs, sleep } from '../waiting.ts';
import { RecentIds } from './recent-ids.ts';
import { eventsBySocket, SocketRefusal } from './socket.ts';

export interface FollowOptions {
  /** From where on, where the store has no cursor yet; without it the end of the journal. `'0'` is its beginning. */
  readonly cursor?: string;
  /** Keeps the cursor of the last event that was handled: every later start goes on after it. */
  readonly store?: Store;
  /** Prefixes of types, as `task.` or `run.succeeded`; 20 at most. */
  readonly types?: readonly string[];
  /** Only events of this workspace and those below it. */
  readonly workspaceId?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds between two looks where no socket can be had; 2,000 without it. */
  readonly pollMs?: number;
  /** Leaves out an event whose id was among this many before it; 0, which leaves out none, without it. */
  readonly dedupe?: number;
  /** Whether a socket is tried; `true` without it. */
  readonly socket?: boolean;
}

/** A service may ask to be left alone for at most so long; then it is asked again. */
const askedWaitMsMax = 300_000;

/** In numbers and milliseconds. */
export const followBounds = {
  /** After this many sockets in a row that ended at once, pages are read instead. */
  socketsMax: 2,
  /** A socket that lasted this long was a good one. */
  goodSocketMs: 10_000,
  /** Pages are read for this long; then a socket is tried again. */
  pagesMs: 60_000,
  /** A socket that brings nothing for this long is opened anew: browsers don't tell of one whose network is gone. */
  silentMs: 60_000,
};

/**
 * The journal from a cursor on: by a socket, or page by page where there is none. After a break it goes on with the
 * last cursor, so each event comes at least once. An event counts as handled, for the store, when the next is asked for.
 * @throws BatonError what the service refuses, as an unknown workspace or a cursor of another history
 */
export async function* follow(
  api: Api,
  options: FollowOptions = {},
  { socketsMax, goodSocketMs, pagesMs, silentMs } = followBounds,
): AsyncGenerator<JournalEvent, void, undefined> {
  const { store, signal } = options;
  const seen = new RecentIds(options.dedupe ?? 0);
  const from = { cursor: (await store?.read()) || options.cursor };
  const passed = async (cursor: string) => {
    if (cursor === from.cursor) return;
    from.cursor = cursor;
    await store?.write(cursor);
  };
  const isSocketThere = options.socket !== false && typeof WebSocket === 'function';
  let socketFailures = 0;
  for (let failures = 0; !signal?.aborted; ) {
    const isSocket = isSocketThere && socketFailures < socketsMax;
    const beganMs = performance.now();
    let isGood = false;
    let askedMs = 0;
    try {
      // The store knows it from the beginning, or a next start before the first event would begin later.
      if (from.cursor === undefined) await passed(await endOfJournal(api, signal));
      const cursor = from.cursor as string;
      const events = isSocket
        ? eventsBySocket(api, cursor, { ...options, silentMs })
        : eventsByPages(api, cursor, { ...options, ...(isSocketThere && { forMs: pagesMs }), passed });
      for await (const event of events) {
        // A page, too, may hold 200 more.
        if (signal?.aborted) return;
        isGood = true;
        if (seen.add(event.id)) yield event;
        await passed(event.cursor);
      }
      isGood ||= !isSocket || performance.now() - beganMs >= goodSocketMs;
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
      if (error instanceof BatonError) askedMs = Math.min(error.retryAfterMs ?? 0, askedWaitMsMax);
    }
    if (isSocket) socketFailures = isGood ? 0 : socketFailures + 1;
    // After pages one socket is tried; if that ends at once, pages follow.
    else socketFailures = socketsMax - 1;
    failures = isGood ? 1 : failures + 1;
    await sleep(backoffMs(failures, askedMs), signal).catch(() => undefined);
  }
}

/** A socket's refusal may have gone over a proxy that knows no sockets: the page says what is really wrong. */
function isPassing(error: unknown): boolean {
  return error instanceof SocketRefusal || (error instanceof BatonError && error.retryable);
}

async function endOfJournal(api: Api, signal: AbortSignal | undefined): Promise<string> {
  const { nextCursor } = await api.events.list({ tail: 1 }, signal && { signal });
  return nextCursor;
}

interface PageOptions extends FollowOptions {
  /** Ends after a page when so many milliseconds have passed; never without it. */
  readonly forMs?: number;
  /** Told the cursor after each page, which lies behind what the filter skips, too. */
  passed(cursor: string): Promise<void>;
}

/** Page after page; a page without events is asked for again a little later. */
async function* eventsByPages(
  api: Api,
  first: string,
  { types, workspaceId, signal, pollMs = 2_000, forMs = Infinity, passed }: PageOptions,
): AsyncGenerator<JournalEvent, void, undefined> {
  const endsMs = performance.now() + forMs;
  for (let cursor = first; performance.now() < endsMs; ) {
    const query = {
      cursor,
      limit: 200,
      ...(types && { types: types.join(',') }),
      ...(workspaceId !== undefined && { workspaceId }),
    };
    const { items, nextCursor, hasMore } = await api.events.list(query, signal && { signal });
    yield* items;
    cursor = nextCursor;
    await passed(cursor);
    if (!hasMore) await sleep(pollMs, signal);
  }
}
