import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { Db } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { Authenticator } from '../../access/authn/authenticate.ts';
import type { Caller } from '../../service/caller.ts';
import { holds } from '../../service/permissions.ts';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import { goingAway, type StreamEnd, streamEndOf, tooManyStreams } from './close-codes.ts';
import { credentialOf, pathOf, streamPath, streamRequestOf, subProtocol } from './handshake.ts';
import { Limiter } from './limiter.ts';
import { Subscriber } from './subscriber.ts';
import { TenantTail } from './tenant-tail.ts';

/** Every open stream of this process (core, section 17.4). */
export interface EventStream {
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The tenant's journal may have grown. */
  wake(tenantId: string): void;
  /** Every tenant's journal may have grown. */
  wakeAll(): void;
  /** Checks the credential and the rights again, of one identity's streams or of all. */
  checkAgain(iamPrincipalId?: string): void;
  /** Closes every stream with 1001, so that its client connects to another process. */
  close(): Promise<void>;
}

export interface EventStreamOptions {
  readonly db: Db;
  readonly settings: Settings;
  readonly log: Logger;
  readonly authenticator: Pick<Authenticator, 'enter'>;
  /** How often clients are pinged. */
  readonly pingEveryMs?: number;
}

/** What clients send is ignored; a larger frame ends the stream. */
const clientFrameBytesMax = 4096;
/** Streams that read pages of the journal at once; the rest wait, so that many new ones leave connections for requests. */
const pageReadsMax = 4;
const pingEveryMsDefault = 15_000;
const silentPingsMax = 2;
/** How long a client may take to answer the close of its stream, also of one that was refused. */
const closingMsMax = 2000;

export function createEventStream({
  db,
  settings,
  log,
  authenticator,
  pingEveryMs = pingEveryMsDefault,
}: EventStreamOptions): EventStream {
  const options: ServerOptions & { closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    closeTimeout: closingMsMax,
    maxPayload: clientFrameBytesMax,
    handleProtocols: (offered) => (offered.has(subProtocol) ? subProtocol : false),
  };
  const server = new WebSocketServer(options);
  const pollMs = settings.CP_WS_POLL_INTERVAL_SECONDS * 1000;
  const tails = new Map<string, TenantTail>();
  const sockets = new Map<WebSocket, Duplex>();
  const subscribers = new Set<Subscriber>();
  const pageReads = new Limiter(pageReadsMax);
  let isClosing = false;
  const rechecks = setInterval(() => checkAgain(), pollMs).unref();

  async function admit(req: IncomingMessage, ws: WebSocket, socket: Duplex): Promise<void> {
    const credential = credentialOf(req);
    const caller = await authenticator.enter(credential);
    const { after, typePrefixes, workspaceId } = streamRequestOf(req);
    requireEventsRead(caller);
    // No workspace can be created yet, so none exists.
    if (workspaceId !== undefined) fail('not_found');
    if (ws.readyState !== ws.OPEN || isClosing) return;
    if (hasTooMany(caller)) return end(ws, tooManyStreams);
    const subscriber = new Subscriber({
      ws,
      socket,
      db,
      caller,
      credential,
      after,
      typePrefixes,
      tail: tailOf(caller.tenantId),
      pageReads,
    });
    subscribers.add(subscriber);
    ws.once('close', () => subscribers.delete(subscriber));
    await subscriber.run();
  }

  function tailOf(tenantId: string): TenantTail {
    const known = tails.get(tenantId);
    if (known !== undefined) return known;
    const tail = new TenantTail({ db, tenantId, log, pollMs });
    tails.set(tenantId, tail);
    return tail;
  }

  function hasTooMany({ principalId }: Caller): boolean {
    const max = settings.CP_MAX_WS_PER_PRINCIPAL;
    if (max === 0) return false;
    let open = 0;
    for (const { caller } of subscribers) if (caller.principalId === principalId) open += 1;
    return open >= max;
  }

  function checkAgain(iamPrincipalId?: string): void {
    for (const subscriber of subscribers) {
      if (iamPrincipalId !== undefined && subscriber.caller.iamPrincipalId !== iamPrincipalId) continue;
      authenticator
        .enter(subscriber.credential)
        .then(requireEventsRead)
        .catch((error: unknown) => subscriber.end(streamEndOf(error)));
    }
  }

  return {
    upgrade(req, socket, head) {
      if (isClosing || pathOf(req) !== streamPath) {
        const status = isClosing ? '503 Service Unavailable' : '404 Not Found';
        socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      server.handleUpgrade(req, socket, head, (ws) => {
        sockets.set(ws, socket);
        ws.once('close', () => sockets.delete(ws));
        ws.on('error', (error) => log.debug({ err: error }, 'a stream failed'));
        endWhenSilent(ws, socket, pingEveryMs);
        // The handshake is accepted first: a browser gets to see a close code, but no status of a refused handshake.
        admit(req, ws, socket).catch((error: unknown) => {
          const why = streamEndOf(error);
          if (why.code === 1011) log.error({ err: error }, 'a stream could not be opened');
          end(ws, why);
        });
      });
    },
    wake: (tenantId) => tails.get(tenantId)?.wake(),
    wakeAll() {
      for (const tail of tails.values()) tail.wake();
    },
    checkAgain,
    async close() {
      isClosing = true;
      clearInterval(rechecks);
      const closed = [...sockets.keys()].map(
        (ws) =>
          new Promise<void>((done) =>
            ws.readyState === ws.CLOSED ? done() : ws.once('close', () => done()),
          ),
      );
      for (const ws of sockets.keys()) end(ws, goingAway);
      const late = setTimeout(() => sockets.forEach((_, ws) => ws.terminate()), closingMsMax);
      await Promise.all(closed);
      clearTimeout(late);
    },
  };
}

/** @throws Refusal `permission_denied` */
function requireEventsRead({ permissions }: Caller): void {
  if (!holds(permissions, 'events.read')) fail('permission_denied', { required: ['events.read'] });
}

function end(ws: WebSocket, { code, reason }: StreamEnd): void {
  ws.close(code, reason);
}

/** Ends a stream whose client neither answers pings nor reads: its machine is gone, or its program hangs. */
function endWhenSilent(ws: WebSocket, socket: Duplex, pingEveryMs: number): void {
  let silentPings = 0;
  let before = { readBytes: 0, queuedBytes: 0 };
  const answered = () => {
    silentPings = 0;
  };
  ws.on('pong', answered).on('message', answered);
  const pings = setInterval(() => {
    const queuedBytes = socket.writableLength;
    const readBytes = ((socket as { bytesWritten?: number }).bytesWritten ?? 0) - queuedBytes;
    // A slow client's pong comes only after what is queued for it, so reading counts as an answer too. With nothing queued
    // it may have read no more than our own pings.
    if (before.queuedBytes > 0 && readBytes > before.readBytes) answered();
    before = { readBytes, queuedBytes };
    silentPings += 1;
    if (silentPings > silentPingsMax) ws.terminate();
    else if (ws.readyState === ws.OPEN) ws.ping();
  }, pingEveryMs).unref();
  ws.once('close', () => clearInterval(pings));
}
