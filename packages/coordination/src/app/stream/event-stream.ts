import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { Db } from '@baton/kernel/db';
import { refuseUpgrade } from '@baton/kernel/listener';
import type { Logger } from '@baton/kernel/log';
import type { Authenticator } from '../../access/authn/authenticate.ts';
import { requireEventWorkspace } from '../../ledger/journal/reading.ts';
import type { Caller } from '../../service/caller.ts';
import { holds } from '../../service/permissions.ts';
import { fail } from '../errors.ts';
import type { Health } from '../health/health.ts';
import type { Settings } from '../settings.ts';
import { goingAway, type StreamEnd, streamEndOf, tooManyStreams } from './close-codes.ts';
import { credentialOf, pathOf, streamPath, streamRequestOf, subProtocol } from './handshake.ts';
import { Limiter } from './limiter.ts';
import { Subscriber } from './subscriber.ts';
import { TenantTail } from './tenant-tail.ts';

export interface EventStreamOptions {
  readonly db: Db;
  readonly settings: Settings;
  readonly log: Logger;
  readonly authenticator: Pick<Authenticator, 'enter'>;
  readonly health: Pick<Health, 'refusedCursor'>;
  /** How often clients are pinged. */
  readonly pingEveryMs?: number;
}

/** What clients send is ignored; a larger frame ends the stream. */
const clientFrameBytesMax = 4096;
/** Streams that may read pages of the journal at once: many new ones must leave connections for requests. */
const pageReadsMax = 4;
const pingEveryMsDefault = 15_000;
const silentPingsMax = 2;
/** How long a client may take to answer the close of its stream, also of one that was refused. */
const closingMsMax = 2000;

const serverOptions: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  clientTracking: false,
  closeTimeout: closingMsMax,
  maxPayload: clientFrameBytesMax,
  handleProtocols: (offered) => (offered.has(subProtocol) ? subProtocol : false),
};

/** Every open stream of this process (core, section 17.4). */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #server: WebSocketServer;
  readonly #pollMs: number;
  readonly #tails = new Map<string, TenantTail>();
  /** Every accepted connection, also one that is not admitted yet or was refused. */
  readonly #sockets = new Map<WebSocket, Duplex>();
  readonly #subscribers = new Set<Subscriber>();
  readonly #pageReads = new Limiter(pageReadsMax);
  readonly #rechecks: NodeJS.Timeout;
  #isClosing = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#server = new WebSocketServer(serverOptions);
    this.#pollMs = options.settings.CP_WS_POLL_INTERVAL_SECONDS * 1000;
    this.#rechecks = setInterval(() => this.checkAgain(), this.#pollMs).unref();
  }

  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#isClosing) return refuseUpgrade(socket, '503 Service Unavailable');
    if (pathOf(req) !== streamPath) return refuseUpgrade(socket, '404 Not Found');
    const { log, pingEveryMs = pingEveryMsDefault } = this.#options;
    this.#server.handleUpgrade(req, socket, head, (ws) => {
      this.#sockets.set(ws, socket);
      ws.once('close', () => this.#sockets.delete(ws));
      ws.on('error', (error) => log.debug({ err: error }, 'a stream failed'));
      endWhenSilent(ws, socket, pingEveryMs);
      // The handshake is accepted first: a browser gets to see a close code, but no status of a refused handshake.
      this.#admit(req, ws, socket).catch((error: unknown) => {
        const why = streamEndOf(error);
        if (why.code === 1011) log.error({ err: error }, 'a stream could not be opened');
        end(ws, why);
      });
    });
  }

  /** The tenant's journal may have grown. */
  wake(tenantId: string): void {
    this.#tails.get(tenantId)?.wake();
  }

  /** Every tenant's journal may have grown. */
  wakeAll(): void {
    for (const tail of this.#tails.values()) tail.wake();
  }

  /** Checks the credential and the rights again, of one identity's streams or of all. */
  checkAgain(iamPrincipalId?: string): void {
    for (const subscriber of this.#subscribers) {
      if (iamPrincipalId !== undefined && subscriber.caller.iamPrincipalId !== iamPrincipalId) continue;
      this.#options.authenticator
        .enter(subscriber.credential)
        .then((caller) => {
          requireSamePrincipal(caller, subscriber.caller);
          requireEventsRead(caller);
          return subscriber.lookAgain();
        })
        .catch((error: unknown) => subscriber.end(streamEndOf(error)));
    }
  }

  /** Closes every stream with 1001, so that its client connects to another process. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#rechecks);
    const all = [...this.#sockets.keys()];
    const closed = all.map(whenClosed);
    for (const ws of all) end(ws, goingAway);
    const late = setTimeout(() => this.#sockets.forEach((_, ws) => ws.terminate()), closingMsMax);
    await Promise.all(closed);
    clearTimeout(late);
  }

  async #admit(req: IncomingMessage, ws: WebSocket, socket: Duplex): Promise<void> {
    const { db, authenticator, health } = this.#options;
    const credential = credentialOf(req);
    const caller = await authenticator.enter(credential);
    const { after, typePrefixes, workspaceId } = streamRequestOf(req);
    requireEventsRead(caller);
    const { tenantId } = caller;
    if (workspaceId !== undefined) await requireEventWorkspace({ db, tenantId, caller }, workspaceId);
    if (ws.readyState !== ws.OPEN || this.#isClosing) return;
    if (this.#hasTooMany(caller)) return end(ws, tooManyStreams);
    const [tail, pageReads] = [this.#tailOf(caller.tenantId), this.#pageReads];
    const asked = { caller, credential, after, typePrefixes, workspaceId };
    const refusedCursor = () => health.refusedCursor();
    const subscriber = new Subscriber({ ws, socket, db, tail, pageReads, refusedCursor, ...asked });
    this.#subscribers.add(subscriber);
    ws.once('close', () => this.#subscribers.delete(subscriber));
    await subscriber.run();
  }

  #tailOf(tenantId: string): TenantTail {
    const known = this.#tails.get(tenantId);
    if (known !== undefined) return known;
    const { db, log } = this.#options;
    const tail = new TenantTail({ db, tenantId, log, pollMs: this.#pollMs });
    this.#tails.set(tenantId, tail);
    return tail;
  }

  #hasTooMany({ principalId }: Caller): boolean {
    const max = this.#options.settings.CP_MAX_WS_PER_PRINCIPAL;
    if (max === 0) return false;
    let open = 0;
    for (const { caller } of this.#subscribers) if (caller.principalId === principalId) open += 1;
    return open >= max;
  }
}

function whenClosed(ws: WebSocket): Promise<void> {
  return new Promise((done) => {
    if (ws.readyState === ws.CLOSED) done();
    else ws.once('close', () => done());
  });
}

/**
 * The stream shows the journal of the tenant that it was opened for, so its credential must still be that principal's.
 * @throws Refusal `invalid_credentials`
 */
function requireSamePrincipal(now: Caller, before: Caller): void {
  if (now.tenantId !== before.tenantId || now.principalId !== before.principalId) fail('invalid_credentials');
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
