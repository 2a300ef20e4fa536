import type { Api } from '../client.ts';
import { jsonIn } from '../errors.ts';
import type { JournalEvent } from '../generated/coordination-types.ts';

export interface SocketOptions {
  readonly types?: readonly string[];
  readonly workspaceId?: string;
  readonly signal?: AbortSignal;
  /** The socket ends after this many milliseconds without an event. */
  readonly silentMs: number;
}

/** The socket was closed by the service, or could not be opened. */
export class SocketRefusal extends Error {}

/**
 * A reader that lags behind by this many events is disconnected, and continues after the last event that it handled.
 */
const waitingMax = 5_000;
const refusedToken = 4401;

/**
 * Delivers the events from a cursor on until the socket ends, and none after the signal is aborted.
 * @throws SocketRefusal; the signal's reason
 */
export async function* eventsBySocket(
  api: Api,
  cursor: string,
  { types, workspaceId, signal, silentMs }: SocketOptions,
): AsyncGenerator<JournalEvent, void, undefined> {
  const token = await api.accessToken?.get(signal);
  // Checked here because a listener that is added after the abort is not called.
  if (signal?.aborted) throw signal.reason;
  const query = new URLSearchParams({ after: cursor });
  if (types !== undefined) query.set('types', types.join(','));
  if (workspaceId !== undefined) query.set('workspaceId', workspaceId);
  const url = `${api.coordinationUrl.replace(/^http/, 'ws')}/api/v1/events/ws?${query}`;
  const socket = opened(url, token === undefined ? ['baton'] : ['baton', `bearer.${token}`]);
  const waiting: JournalEvent[] = [];
  let end: Error | 'closed' | undefined;
  let wake: () => void = () => undefined;
  // The socket is closed at once and later events are discarded: otherwise the events of a fast service would
  // accumulate for a slow reader.
  const endWith = (reason: Error | 'closed') => {
    if (end === undefined) socket.close();
    end ??= reason;
    wake();
  };
  const onAbort = () => {
    waiting.length = 0;
    endWith(signal?.reason as Error);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  let silence = setTimeout(endWith, silentMs, 'closed');
  socket.addEventListener('message', ({ data }) => {
    if (end !== undefined) return;
    clearTimeout(silence);
    silence = setTimeout(endWith, silentMs, 'closed');
    const event = jsonIn(String(data));
    if (!isEvent(event)) return endWith(new SocketRefusal('the socket sent a message that is not an event'));
    waiting.push(event);
    if (waiting.length >= waitingMax) endWith('closed');
    wake();
  });
  socket.addEventListener('close', ({ code, reason }) => {
    if (code === refusedToken && token !== undefined) api.accessToken?.forget(token);
    endWith(
      code === 1000 || code === 1001
        ? 'closed'
        : new SocketRefusal(`the socket was closed: ${code} ${reason}`),
    );
  });
  socket.addEventListener('error', () => endWith(new SocketRefusal('the socket could not be opened')));
  try {
    for (;;) {
      const event = waiting.shift();
      if (event !== undefined) yield event;
      else if (end === 'closed') return;
      else if (end !== undefined) throw end;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    clearTimeout(silence);
    signal?.removeEventListener('abort', onAbort);
    socket.close();
  }
}

/**
 * Opens a socket. If sockets aren't permitted, or the token doesn't fit into a header, the caller reads pages instead.
 */
function opened(url: string, protocols: string[]): WebSocket {
  try {
    return new WebSocket(url, protocols);
  } catch (cause) {
    throw new SocketRefusal('the socket could not be opened', { cause });
  }
}

function isEvent(value: unknown): value is JournalEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, type, cursor } = value as Partial<Record<keyof JournalEvent, unknown>>;
  return [id, type, cursor].every((text) => typeof text === 'string' && text !== '');
}
