import type { Api } from '../client.ts';
import { BatonError } from '../errors.ts';
import type { JournalEvent } from '../generated/coordination-types.ts';
import type { Store } from '../store.ts';
import { backoffMs, sleep } from '../wait.ts';
import { RecentIds } from './recent-ids.ts';
import { eventsBySocket, SocketRefusal } from './socket.ts';

export interface FollowOptions {
  /** The first cursor, used while the store has none; the end of the journal by default. `'0'` is its beginning. */
  readonly cursor?: string;
  /** Stores the cursor of the last handled event, after which a later start continues. */
  readonly store?: Store;
  /** Prefixes of types, for example `task.` or `run.succeeded`; at most 20. */
  readonly types?: readonly string[];
  /** Only events of this workspace and its descendants. */
  readonly workspaceId?: string;
  readonly signal?: AbortSignal;
  /** The polling interval in milliseconds while no socket is available; 2,000 by default. */
  readonly pollMs?: number;
  /** Skips an event if its id was among this many previous events; 0 by default, which skips none. */
  readonly dedupe?: number;
  /** Whether to try a socket; `true` by default. */
  readonly socket?: boolean;
}

/** The longest delay that a service can require before the next request. */
const askedWaitMsMax = 300_000;

/** Numbers of sockets, and times in milliseconds. */
export const followBounds = {
  /** After this many consecutive sockets that ended at once, the client reads pages instead. */
  socketsMax: 2,
  /** A socket that lasted this long counts as working. */
  goodSocketMs: 10_000,
  /** How long the client reads pages before it tries a socket again. */
  pagesMs: 60_000,
  /** A socket that is silent for this long is reopened: browsers don't report a lost network. */
  silentMs: 60_000,
};

/**
 * Follows the journal from a cursor on: over a socket, or otherwise page by page. After an interruption it continues
 * with the last cursor, so each event is delivered at least once. The store gets an event's cursor when the next one is
 * requested.
 * @throws BatonError for a rejected request, for example an unknown workspace or a cursor of another history
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
      // Stored at once, because otherwise a restart before the first event would begin at a later position.
      if (from.cursor === undefined) await passed(await endOfJournal(api, signal));
      const cursor = from.cursor as string;
      const events = isSocket
        ? eventsBySocket(api, cursor, { ...options, silentMs })
        : eventsByPages(api, cursor, { ...options, ...(isSocketThere && { forMs: pagesMs }), passed });
      for await (const event of events) {
        // Checked for each event, because a page may contain another 200 of them.
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
    // After a period of reading pages, a single socket is tried; if it ends at once, pages are read again.
    else socketFailures = socketsMax - 1;
    failures = isGood ? 1 : failures + 1;
    await sleep(backoffMs(failures, askedMs), signal).catch(() => undefined);
  }
}

/**
 * Whether to continue after an error. A proxy without support for sockets may be what rejected the socket, so only the
 * error of a request for a page counts.
 */
function isPassing(error: unknown): boolean {
  return error instanceof SocketRefusal || (error instanceof BatonError && error.retryable);
}

async function endOfJournal(api: Api, signal: AbortSignal | undefined): Promise<string> {
  const { nextCursor } = await api.events.list({ tail: 1 }, signal && { signal });
  return nextCursor;
}

interface PageOptions extends FollowOptions {
  /** Ends after the page at which this many milliseconds have passed; never by default. */
  readonly forMs?: number;
  /** Called with the cursor after each page, because that cursor is also past the events that the filter skips. */
  passed(cursor: string): Promise<void>;
}

/** Reads page after page; requests an empty page again a little later. */
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
