import { createHash } from 'node:crypto';
import { createMcpHandler, InMemoryServerEventBus, type McpHttpHandler } from '@modelcontextprotocol/server';
import { BatonError, createClient, type Transport } from '@baton/sdk';
import { cursorKey, JournalWatch } from '../journal-watch.ts';
import { readOffer } from '../offer.ts';
import { buildServer } from '../server.ts';
import { createSkillsExtension } from '../skills.ts';
import { messageBytesMax } from '../tool.ts';
import { version } from '../version.ts';
import { Workplace } from '../workplace.ts';
import type { Turns } from './turns.ts';

export const clientBounds = {
  /** The maximum number of tokens that are served at the same time. */
  clientsMax: 200,
  /** Of one principal. */
  clientsOfPrincipalMax: 4,
  /** Concurrent requests per token. */
  requestsMax: 16,
  /** The maximum number of unknown tokens per address that are checked at the same time. */
  openingsOfAddressMax: 50,
  /** The maximum total size, in bytes, of one principal's bodies in memory, and of all bodies together. */
  principalBytesMax: 2 * messageBytesMax,
  bytesMax: 128 * messageBytesMax,
  /** After this time, a client without requests is removed, and a lease that no call has referred to is released. */
  idleMs: 600_000,
  /** How long a token's permissions are cached. */
  believedMs: 60_000,
  /** How long a token is served without a request to coordination, which rejects one that was revoked. */
  uncheckedMs: 500,
  sweepEveryMs: 15_000,
  /** The maximum number of change streams per token, and the lifetime of a stream before its client must reconnect. */
  subscriptionsMax: 2,
  listenMsMax: 600_000,
  bodyBytesMax: messageBytesMax,
  /**
   * How long a session and its leases outlive this process. They are renewed every third of that time, even between
   * calls.
   */
  leaseSeconds: 60,
  /**
   * A client that signs in by browser refreshes its access token only for a call. This long before the token expires,
   * its leases are extended to the idle limit, because nothing here can renew them afterwards. If its grant is revoked,
   * coordination ends them at once.
   */
  expiresSoonMs: 60_000,
};
export type ClientBounds = typeof clientBounds;

const checkMsMax = 10_000;

/** Why a request is rejected. */
export type Refusal = 'invalid_token' | 'busy' | 'full' | 'unavailable';

/**
 * The client of one token: its leases and its permissions. The protocol has no sessions, so the token identifies the
 * client.
 */
export interface ServedClient {
  readonly principalId: string;
  kind: string;
  /** For an access token: the grant or token for which it was issued. */
  readonly credentialId: string | undefined;
  /** For an access token: its scopes, sorted. */
  readonly scope: string | undefined;
  /** The wall-clock time at which an access token expires; infinite for other tokens. */
  expiresAtMs: number;
  /** Whether its leases were extended because its access token expires soon. */
  isExtended: boolean;
  readonly workplace: Workplace;
  readonly handler: McpHttpHandler;
  readonly journal: JournalWatch;
  permissions: readonly string[];
  believedUntilMs: number;
  checkedAtMs: number;
  usedAtMs: number;
  requests: number;
  /** Replaces an access token with a newer one of the same credential. */
  renew(token: string): void;
  /** Reads the token's permissions from Baton. The exchange fails for a revoked token. */
  check(isAnew: boolean): Promise<Pick<ServedClient, 'principalId' | 'kind' | 'permissions'>>;
}

/** The clients of this process, by a hash of their tokens. */
export class ServedClients {
  readonly #url: string;
  readonly #bounds: ClientBounds;
  readonly #turns: Turns;
  readonly #clients = new Map<string, ServedClient>();
  readonly #opening = new Map<string, Promise<ServedClient | Refusal>>();
  readonly #openingsOf = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;
  #isSweeping = false;

  /** @param url the address at which this Baton reaches itself */
  constructor(url: string, bounds: ClientBounds, turns: Turns) {
    this.#url = url;
    this.#bounds = bounds;
    this.#turns = turns;
    this.#timer = setInterval(() => void this.#sweep(), bounds.sweepEveryMs).unref();
  }

  get size(): number {
    return this.#clients.size;
  }

  /**
   * Returns the client of a token. The caller counts its request in `requests`.
   * @param address the address of the request's sender
   */
  async find(
    token: string,
    address: string,
    transport: Transport | undefined,
  ): Promise<ServedClient | Refusal> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#clients.get(key);
    if (known !== undefined) return this.#believed(key, known);
    const before = this.#opening.get(key);
    if (before !== undefined) return before;
    // Each check of a token, valid or not, costs a call to Baton, so the checks of an address are limited.
    const openings = this.#openingsOf.get(address) ?? 0;
    if (openings >= this.#bounds.openingsOfAddressMax) return 'full';
    this.#openingsOf.set(address, openings + 1);
    const opening = this.#open(key, token, address, transport).finally(() => {
      this.#opening.delete(key);
      const left = (this.#openingsOf.get(address) ?? 1) - 1;
      if (left === 0) this.#openingsOf.delete(address);
      else this.#openingsOf.set(address, left);
    });
    this.#opening.set(key, opening);
    return opening;
  }

  /** Releases every lease and removes every client. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.allSettled([...this.#clients.keys()].map((key) => this.#forget(key)));
  }

  async #believed(key: string, client: ServedClient): Promise<ServedClient | Refusal> {
    const nowMs = performance.now();
    client.usedAtMs = nowMs;
    if (nowMs >= client.believedUntilMs) return this.#checked(key, client);
    if (nowMs < client.checkedAtMs + this.#bounds.uncheckedMs) return client;
    client.checkedAtMs = nowMs;
    const refusal = await client.check(false).then(() => undefined, refusalBy);
    // During an interruption each call of a tool fails by itself.
    return refusal === 'invalid_token' ? this.#checked(key, client) : client;
  }

  /** Reads the token's permissions again. The client of an invalid token is removed, with all its leases. */
  async #checked(key: string, client: ServedClient): Promise<ServedClient | Refusal> {
    try {
      ({ permissions: client.permissions } = await client.check(true));
      client.checkedAtMs = performance.now();
      client.believedUntilMs = client.checkedAtMs + this.#bounds.believedMs;
      return client;
    } catch (error) {
      const refusal = refusalBy(error);
      if (refusal === 'invalid_token' && !isExpired(client)) void this.#forget(key);
      return refusal;
    }
  }

  async #open(
    key: string,
    token: string,
    address: string,
    transport: Transport | undefined,
  ): Promise<ServedClient | Refusal> {
    await this.#turns.take(`address ${address}`);
    const client = this.#make(token, transport);
    try {
      const found = await client.check(false);
      const renewed = this.#renew(key, token, client, found);
      if (renewed !== undefined) return renewed;
      if (!(await this.#makeRoom(found.principalId))) return 'full';
      if (this.#isClosed) return 'unavailable';
      const opened = Object.assign(client, found, {
        checkedAtMs: performance.now(),
        believedUntilMs: performance.now() + this.#bounds.believedMs,
      });
      this.#clients.set(key, opened);
      return opened;
    } catch (error) {
      return refusalBy(error);
    }
  }

  /**
   * A client that signs in through the browser gets another access token every few minutes. A client that is already
   * being served keeps its leases. A token with other scopes belongs to another client, for example one to which its
   * holder has given fewer rights: calls of one must never run with the token of the other.
   * @param found confirms the token, so its claims can be read
   */
  #renew(
    key: string,
    token: string,
    client: ServedClient,
    found: Pick<ServedClient, 'principalId' | 'permissions'>,
  ): ServedClient | undefined {
    if (client.credentialId === undefined) return undefined;
    const isSame = (one: ServedClient) =>
      one.credentialId === client.credentialId &&
      one.scope === client.scope &&
      one.principalId === found.principalId;
    const [formerKey, former] = [...this.#clients].find(([, one]) => isSame(one)) ?? [];
    if (formerKey === undefined || former === undefined) return undefined;
    former.renew(token);
    former.permissions = found.permissions;
    former.usedAtMs = performance.now();
    former.checkedAtMs = performance.now();
    former.believedUntilMs = performance.now() + this.#bounds.believedMs;
    this.#clients.delete(formerKey);
    this.#clients.set(key, former);
    void closed(client);
    return former;
  }

  #make(token: string, transport: Transport | undefined): ServedClient {
    // Access tokens are signed documents of three parts. They are used directly and can't be renewed here.
    const isAccessToken = accessTokenForm.test(token);
    const held = { token };
    const claims = isAccessToken ? claimsIn(token) : undefined;
    const accessToken = async () => {
      if (isExpired(client)) throw expired();
      return { accessToken: held.token, expiresIn: Math.min((client.expiresAtMs - Date.now()) / 1000, 3600) };
    };
    const credential = isAccessToken ? { accessToken } : { token };
    const newClient = () => createClient({ url: this.#url, credential, ...(transport && { transport }) });
    const baton = newClient();
    const bounds = this.#bounds;
    const workplace = new Workplace(baton, { version, leaseSeconds: bounds.leaseSeconds });
    const skills = createSkillsExtension(baton);
    const bus = new InMemoryServerEventBus();
    const journal = new JournalWatch(baton, ({ uri, cursor }) =>
      bus.publish({ kind: 'resource_updated', uri, params: { _meta: { [cursorKey]: cursor } } }),
    );
    const client: ServedClient = {
      principalId: '',
      kind: '',
      credentialId: claims?.credentialId,
      scope: claims?.scope,
      expiresAtMs: claims?.expiresAtMs ?? Number.POSITIVE_INFINITY,
      isExtended: false,
      workplace,
      journal,
      permissions: [],
      believedUntilMs: 0,
      checkedAtMs: 0,
      usedAtMs: performance.now(),
      requests: 0,
      handler: createMcpHandler(
        ({ era, requestInfo }) =>
          buildServer({
            baton,
            workplace,
            permissions: client.permissions,
            version,
            skills,
            // Clients with a 2025 protocol version have no stream here that outlives a request.
            canListen: era === 'modern',
            isModern: era === 'modern',
            ...readOffer(requestInfo?.url ?? ''),
          }),
        {
          bus,
          maxSubscriptions: bounds.subscriptionsMax,
          maxRequestBodySize: bounds.bodyBytesMax,
          onerror: () => undefined,
        },
      ),
      renew(newer) {
        const former = held.token;
        held.token = newer;
        client.expiresAtMs = claimsIn(newer)?.expiresAtMs ?? Number.POSITIVE_INFINITY;
        baton.accessToken?.forget(former);
        if (client.isExtended) void workplace.setLeaseSeconds(bounds.leaseSeconds);
        client.isExtended = false;
      },
      async check(isAnew) {
        // If the token was revoked, its last access token can still release leases.
        const asked = isAnew ? newClient() : baton;
        const context = await asked.harness.getContext(undefined, { deadlineMs: checkMsMax, attempts: 2 });
        const isOther = String(context.permissions) !== String(client.permissions);
        if (isAnew && isOther) baton.accessToken?.forget(await baton.accessToken.get());
        const { id: principalId, kind } = context.principal;
        return { principalId, kind, permissions: context.permissions };
      },
    };
    return client;
  }

  /**
   * Whether there is room for one more client of this principal. If necessary, idle clients without leases are removed.
   */
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
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    await Promise.allSettled([...this.#clients].map(([key, client]) => this.#lookAfter(key, client)));
    this.#isSweeping = false;
  }

  async #lookAfter(key: string, client: ServedClient): Promise<void> {
    const { idleMs, expiresSoonMs, leaseSeconds } = this.#bounds;
    const { workplace, journal } = client;
    if (isExpired(client)) {
      // The client's next access token continues its leases. If none arrives, the leases expire in coordination.
      if (client.usedAtMs < performance.now() - idleMs) await this.#forget(key);
      return;
    }
    if (client.expiresAtMs - expiresSoonMs < Date.now()) {
      const leftMs = client.usedAtMs + idleMs - performance.now();
      client.isExtended = true;
      await workplace.setLeaseSeconds(Math.max(leaseSeconds, Math.ceil(leftMs / 1000)));
    }
    // A client that listens counts as active and keeps its leases.
    if (journal.isListening) workplace.touch();
    else await workplace.releaseIdle(idleMs);
    if (client.requests > 0 || workplace.size > 0) {
      // The client may hold leases or listen for a long time without a request that would reveal that its token was
      // revoked.
      if (performance.now() >= client.believedUntilMs) await this.#checked(key, client);
    } else if (client.usedAtMs < performance.now() - idleMs) await this.#forget(key);
  }

  async #forget(key: string): Promise<void> {
    const client = this.#clients.get(key);
    this.#clients.delete(key);
    if (client !== undefined) await closed(client);
  }
}

async function closed({ handler, journal, workplace }: ServedClient): Promise<void> {
  journal.close();
  await Promise.allSettled([handler.close(), workplace.close()]);
}

const accessTokenForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

interface TokenClaims {
  readonly credentialId: string | undefined;
  readonly scope: string | undefined;
  readonly expiresAtMs: number;
}

/** Reads the id before the token is confirmed; it is used only afterwards. */
function claimsIn(token: string): TokenClaims | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const { credential_id: id, scope, exp } = claims as Record<string, unknown>;
    return {
      credentialId: typeof id === 'string' ? id : undefined,
      scope: typeof scope === 'string' ? scope.split(' ').sort().join(' ') : undefined,
      expiresAtMs: typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY,
    };
  } catch {
    return undefined;
  }
}

function isExpired({ expiresAtMs }: Pick<ServedClient, 'expiresAtMs'>): boolean {
  return expiresAtMs <= Date.now();
}

/** The response that coordination would give, without a request per attempt. */
function expired(): BatonError {
  return new BatonError({ code: 'token_expired', message: 'the access token has expired', status: 401 });
}

function refusalBy(error: unknown): Refusal {
  if (error instanceof BatonError && [400, 401, 403, 422].includes(error.status)) return 'invalid_token';
  if (error instanceof BatonError) return 'unavailable';
  throw error;
}
