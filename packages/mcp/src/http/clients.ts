import { createHash } from 'node:crypto';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { BatonError, createClient, type Transport } from '@baton/sdk';
import { offerOf } from '../offer.ts';
import { buildServer } from '../server.ts';
import { messageBytesMax } from '../tool.ts';
import { version } from '../version.ts';
import { Workplace } from '../workplace.ts';

export const clientBounds = {
  /** Tokens that are served at a time. */
  clientsMax: 200,
  /** Of one principal. */
  clientsOfPrincipalMax: 4,
  /** Requests of one token under way. */
  requestsMax: 16,
  /** Without a request a client is forgotten after this, and a lease that no call named is given back. */
  idleMs: 600_000,
  /** How long what a token may do is believed. */
  believedMs: 60_000,
  sweepEveryMs: 15_000,
  bodyBytesMax: messageBytesMax,
};
export type ClientBounds = typeof clientBounds;

/** How long a session and its leases outlive this process. */
const leaseSeconds = 60;
const checkMsMax = 10_000;

/** Why a request is not served. */
export type Refusal = 'invalid_token' | 'busy' | 'full' | 'unavailable';

/** One token that is served: its work at Baton, and what it may do. The protocol has no sessions: the token is all there is. */
export interface ServedClient {
  readonly principalId: string;
  readonly workplace: Workplace;
  readonly handler: McpHttpHandler;
  permissions: readonly string[];
  believedUntilMs: number;
  usedAtMs: number;
  requests: number;
  /** Has the token exchanged anew by the next call: one that was revoked shows then. */
  renew(): Promise<void>;
  /** Asks Baton whether the token is good. */
  check(): Promise<{ principalId: string; permissions: readonly string[] }>;
}

/** The clients of this process, by a hash of their tokens. */
export class ServedClients {
  readonly #url: string;
  readonly #bounds: ClientBounds;
  readonly #clients = new Map<string, ServedClient>();
  readonly #opening = new Map<string, Promise<ServedClient | Refusal>>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  /** @param url where this Baton reaches itself */
  constructor(url: string, bounds: ClientBounds) {
    this.#url = url;
    this.#bounds = bounds;
    this.#timer = setInterval(() => void this.#sweep(), bounds.sweepEveryMs).unref();
  }

  get size(): number {
    return this.#clients.size;
  }

  /** The client of a token; whoever gets it counts its request in `requests`. */
  async find(token: string, transport: Transport | undefined): Promise<ServedClient | Refusal> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#clients.get(key);
    if (known !== undefined) return this.#believed(key, known);
    const opening = this.#opening.get(key) ?? this.#open(key, token, transport);
    this.#opening.set(key, opening);
    return opening.finally(() => this.#opening.delete(key));
  }

  /** Gives back every lease and forgets every client. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.allSettled([...this.#clients.keys()].map((key) => this.#forget(key)));
  }

  async #believed(key: string, client: ServedClient): Promise<ServedClient | Refusal> {
    client.usedAtMs = performance.now();
    if (performance.now() < client.believedUntilMs) return client;
    try {
      await client.renew();
      ({ permissions: client.permissions } = await client.check());
      client.believedUntilMs = performance.now() + this.#bounds.believedMs;
      return client;
    } catch (error) {
      const refusal = refusalBy(error);
      if (refusal === 'invalid_token') void this.#forget(key);
      return refusal;
    }
  }

  async #open(key: string, token: string, transport: Transport | undefined): Promise<ServedClient | Refusal> {
    // Each token that is looked at costs a call, wrong ones too.
    if (this.#opening.size >= this.#bounds.clientsMax) return 'full';
    const client = this.#make(token, transport);
    try {
      const found = await client.check();
      if (!(await this.#makeRoom(found.principalId))) return 'full';
      if (this.#isClosed) return 'unavailable';
      const opened = Object.assign(client, found, {
        believedUntilMs: performance.now() + this.#bounds.believedMs,
      });
      this.#clients.set(key, opened);
      return opened;
    } catch (error) {
      return refusalBy(error);
    }
  }

  #make(token: string, transport: Transport | undefined): ServedClient {
    // Access tokens are signed documents of three parts; they are used as they are, and can't be renewed here.
    const isAccessToken = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
    const credential = isAccessToken
      ? { accessToken: async () => ({ accessToken: token, expiresIn: 3600 }) }
      : { token };
    const baton = createClient({ url: this.#url, credential, ...(transport && { transport }) });
    const workplace = new Workplace(baton, { version, leaseSeconds });
    const client: ServedClient = {
      principalId: '',
      workplace,
      permissions: [],
      believedUntilMs: 0,
      usedAtMs: performance.now(),
      requests: 0,
      handler: createMcpHandler(
        ({ requestInfo }) =>
          buildServer({
            baton,
            workplace,
            permissions: client.permissions,
            version,
            ...offerOf(requestInfo?.url ?? ''),
          }),
        // Nothing that is listed changes by itself, so there is nothing to listen for.
        { maxSubscriptions: 0, maxRequestBodySize: this.#bounds.bodyBytesMax, onerror: () => undefined },
      ),
      async renew() {
        if (!isAccessToken) await baton.accessToken?.forget(await baton.accessToken.get());
      },
      async check() {
        const context = await baton.harness.getContext(undefined, { deadlineMs: checkMsMax, attempts: 2 });
        return { principalId: context.principal.id, permissions: context.permissions };
      },
    };
    return client;
  }

  /** Whether one more client of this principal may be served: idle ones that hold nothing make room. */
  async #makeRoom(principalId: string): Promise<boolean> {
    const { clientsMax, clientsOfPrincipalMax } = this.#bounds;
    const own = [...this.#clients].filter(([, client]) => client.principalId === principalId);
    const crowd = own.length >= clientsOfPrincipalMax ? own : [...this.#clients];
    if (own.length < clientsOfPrincipalMax && crowd.length < clientsMax) return true;
    const [oldest] = crowd
      .filter(([, { requests, workplace }]) => requests === 0 && workplace.size === 0)
      .sort(([, a], [, b]) => a.usedAtMs - b.usedAtMs);
    if (oldest === undefined) return false;
    this.#clients.delete(oldest[0]);
    await closed(oldest[1]);
    return true;
  }

  async #sweep(): Promise<void> {
    const { idleMs } = this.#bounds;
    const since = performance.now() - idleMs;
    for (const [key, client] of this.#clients) {
      await client.workplace.releaseIdle(idleMs);
      if (client.usedAtMs < since && client.requests === 0 && client.workplace.size === 0)
        await this.#forget(key);
    }
  }

  async #forget(key: string): Promise<void> {
    const client = this.#clients.get(key);
    this.#clients.delete(key);
    if (client !== undefined) await closed(client);
  }
}

async function closed({ handler, workplace }: ServedClient): Promise<void> {
  await Promise.allSettled([handler.close(), workplace.close()]);
}

function refusalBy(error: unknown): Refusal {
  if (error instanceof BatonError && [400, 401, 403, 422].includes(error.status)) return 'invalid_token';
  if (error instanceof BatonError) return 'unavailable';
  throw error;
}
