import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { Db } from '@baton/kernel/database/db';
import { refuseUpgrade } from '@baton/kernel/listener/listener';
import type { Logger } from '@baton/kernel/process/log';
import type { Authenticator } from '../../access/authn/authenticate.ts';
import { settleLegacy } from '../../ledger/journal/legacy.ts';
import { requireEventWorkspace } from '../../ledger/journal/read-pages.ts';
import type { Caller } from '../../service/caller.ts';
import { holds } from '../../service/permissions.ts';
import { readViewer } from '../../service/sight/sight.ts';
import { fail } from '../errors.ts';
import type { Health } from '../health/health.ts';
import type { Settings } from '../settings.ts';
import { goingAway, streamEndOf, tooManyStreams } from './close-codes.ts';
import { credentialOf, pathOf, streamPath, streamRequestOf, subProtocol } from './handshake.ts';
import { Outlet } from './outlet.ts';
import { PageReaders } from './page-readers.ts';
import { Rechecks } from './rechecks.ts';
import { type CredentialStreams, StreamRegistry } from './stream-registry.ts';
import { Subscriber } from './subscriber.ts';
import { Tails } from './tails.ts';

export interface EventStreamOptions {
  readonly db: Db;
  readonly settings: Settings;
  readonly log: Logger;
  readonly authenticator: Pick<Authenticator, 'enter'>;
  readonly health: Pick<Health, 'refusedCursor'>;
  /** Adds the decision point's grants on the journal, or on one workspace of it, to the caller. */
  readonly authorizeReader?: (caller: Caller, workspaceId: string | undefined) => Promise<Caller>;
  /** The interval of pings. */
  readonly pingEveryMs?: number;
}

/** Frames from clients are ignored; one that is larger than this ends the stream. */
const clientFrameBytesMax = 4096;
const pingEveryMsDefault = 15_000;
/** The time in which a client must confirm the close of its stream, or of a refused one. */
const closingMsMax = 2000;
/** The maximum number of refused streams whose clients haven't closed yet; beyond it, handshakes are rejected. */
const refusedMax = 1000;

const serverOptions: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  clientTracking: false,
  // `Outlet` responds to pings instead, because it bounds the queued pongs.
  autoPong: false,
  perMessageDeflate: false,
  closeTimeout: closingMsMax,
  maxPayload: clientFrameBytesMax,
  handleProtocols: (offered) => (offered.has(subProtocol) ? subProtocol : false),
};

/** Every open stream of this process. See docs/reference/journal.md#streams. */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #server = new WebSocketServer(serverOptions);
  readonly #tails: Tails;
  /** Every accepted connection, including one that is not admitted yet or was refused. */
  readonly #outlets = new Set<Outlet>();
  readonly #registry = new StreamRegistry();
  readonly #pageReaders = new PageReaders();
  readonly #rechecks: Rechecks;
  /** Counts changes of rights: a stream that was authorized before a change is checked again. */
  #changes = 0;
  #isClosing = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    const { db, log, settings } = options;
    const pollMs = settings.CP_WS_POLL_INTERVAL_SECONDS * 1000;
    this.#tails = new Tails({ db, log, pollMs });
    this.#rechecks = new Rechecks({
      registry: this.#registry,
      pollMs,
      check: (streams) => this.#check(streams),
    });
  }

  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (pathOf(req) !== streamPath) return refuseUpgrade(socket, '404 Not Found');
    const isFull = this.#outlets.size >= this.#options.settings.CP_MAX_WS_PER_PROCESS;
    if (this.#isClosing || this.#outlets.size >= this.#options.settings.CP_MAX_WS_PER_PROCESS + refusedMax)
      return refuseUpgrade(socket, '503 Service Unavailable');
    const { log, pingEveryMs = pingEveryMsDefault } = this.#options;
    this.#server.handleUpgrade(req, socket, head, (ws) => {
      ws.on('error', (error) => log.debug({ err: error }, 'a stream failed'));
      const outlet = new Outlet(ws, socket, pingEveryMs);
      this.#outlets.add(outlet);
      outlet.onceClosed(() => this.#outlets.delete(outlet));
      if (isFull) return outlet.end(tooManyStreams);
      // Accept the handshake first: a browser sees a close code, but not the status of a refused handshake.
      this.#admit(req, outlet).catch((error: unknown) => {
        const why = streamEndOf(error);
        if (why.code === 1011) log.error({ err: error }, 'a stream could not be opened');
        outlet.end(why);
      });
    });
  }

  /** The tenant's journal may have grown. */
  wake(tenantId: string): void {
    this.#tails.wake(tenantId);
  }

  /** Every tenant's journal may have grown. */
  wakeAll(): void {
    this.#tails.wakeAll();
  }

  /** Checks the credential and the rights again, for the streams of one identity or for all. */
  checkAgain(iamPrincipalId?: string): void {
    this.#changes += 1;
    if (iamPrincipalId === undefined) return this.#rechecks.all();
    for (const streams of this.#registry.of(iamPrincipalId)) this.#rechecks.now(streams);
  }

  /** Closes every stream with 1001, so that its client connects to another process. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#rechecks.stop();
    const closed = [...this.#outlets].map((outlet) => new Promise<void>((done) => outlet.onceClosed(done)));
    for (const outlet of this.#outlets) outlet.end(goingAway);
    const late = setTimeout(() => this.#outlets.forEach((outlet) => outlet.terminate()), closingMsMax);
    await Promise.all(closed);
    clearTimeout(late);
  }

  async #admit(req: IncomingMessage, outlet: Outlet): Promise<void> {
    const { db, authenticator, health } = this.#options;
    const changesBefore = this.#changes;
    const credential = credentialOf(req);
    const caller = await authenticator.enter(credential, true);
    const { after: given, typePrefixes, workspaceId } = streamRequestOf(req);
    requireEventsRead(await this.#authorize(caller, workspaceId));
    const { tenantId } = caller;
    if (workspaceId !== undefined)
      await this.#pageReaders.run(tenantId, () =>
        requireEventWorkspace({ db, tenantId, caller }, workspaceId),
      );
    const after = await this.#pageReaders.run(tenantId, () => settleLegacy(db, tenantId, given));
    if (!outlet.isOpen || this.#isClosing) return;
    const principalMax = this.#options.settings.CP_MAX_WS_PER_PRINCIPAL;
    if (principalMax > 0 && this.#registry.countOf(caller) >= principalMax) return outlet.end(tooManyStreams);
    const subscriber = new Subscriber({
      outlet,
      db,
      caller,
      credential,
      after,
      typePrefixes,
      workspaceId,
      tail: this.#tails.enter(tenantId),
      pageReaders: this.#pageReaders,
      refusedCursor: () => health.refusedCursor(),
    });
    const streams = this.#registry.add(subscriber);
    outlet.onceClosed(() => {
      this.#registry.delete(subscriber);
      this.#tails.leave(tenantId);
    });
    // A change of rights that was announced during the authorization did not reach this stream, so it is checked again.
    if (this.#changes !== changesBefore) this.#rechecks.now(streams);
    await subscriber.run();
  }

  /** Checks the rights of one credential, and the part of the tree that its principal sees. */
  async #check({ credential, caller: before, subscribers }: CredentialStreams): Promise<void> {
    const { db, authenticator } = this.#options;
    try {
      const caller = await authenticator.enter(credential);
      requireSamePrincipal(caller, before);
      await this.#requireEventsRead(caller, subscribers);
      const viewerId = await readViewer({ db, tenantId: caller.tenantId, caller });
      for (const subscriber of subscribers) subscriber.see(viewerId);
      if (viewerId !== null) await this.#requireWorkspaces(caller, subscribers);
    } catch (error) {
      for (const subscriber of subscribers) subscriber.end(streamEndOf(error));
    }
  }

  #authorize(caller: Caller, workspaceId: string | undefined): Promise<Caller> {
    const { authorizeReader } = this.#options;
    return authorizeReader === undefined ? Promise.resolve(caller) : authorizeReader(caller, workspaceId);
  }

  /** Checked once for the whole journal, and once for each workspace of the streams. */
  async #requireEventsRead(caller: Caller, subscribers: Iterable<Subscriber>): Promise<void> {
    if (this.#options.authorizeReader === undefined) return requireEventsRead(caller);
    for (const workspaceId of new Set([...subscribers].map((subscriber) => subscriber.workspaceId)))
      requireEventsRead(await this.#authorize(caller, workspaceId));
  }

  /** Ends streams whose workspace their principal no longer sees. */
  async #requireWorkspaces(caller: Caller, subscribers: Iterable<Subscriber>): Promise<void> {
    const { db } = this.#options;
    for (const subscriber of subscribers) {
      const { workspaceId } = subscriber;
      if (workspaceId === undefined) continue;
      // A new context object, because the visibility is cached by object.
      const asking = { db, tenantId: caller.tenantId, caller };
      await requireEventWorkspace(asking, workspaceId).catch((error: unknown) => subscriber.fail(error));
    }
  }
}

/**
 * A stream sends the journal of the tenant that it was opened for, so its credential must still belong to the same
 * principal.
 * @throws Refusal `invalid_credentials`
 */
function requireSamePrincipal(now: Caller, before: Caller): void {
  if (now.tenantId !== before.tenantId || now.principalId !== before.principalId) fail('invalid_credentials');
}

/** @throws Refusal `permission_denied` */
function requireEventsRead({ permissions }: Caller): void {
  if (!holds(permissions, 'events.read')) fail('permission_denied', { required: ['events.read'] });
}
