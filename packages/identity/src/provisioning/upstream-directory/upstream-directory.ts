import type { OutboundAnswer, OutboundClient } from '@baton/kernel/outbound/outbound';
import type { Logger } from '@baton/kernel/process/log';
import { fail } from '../errors.ts';
import { type UpstreamCredentials, withoutSlash } from './credentials.ts';
import {
  fieldsOf,
  type Protocol,
  type ProtocolRequest,
  protocolsOf,
  type UpstreamUser,
} from './protocols.ts';
import { errorOfStatus, UpstreamError, upstreamErrorOf } from './upstream-error.ts';
import { UpstreamTokens } from './upstream-tokens.ts';

/** The directory that a source writes to before it writes to identity. */
export interface UpstreamSource {
  readonly sourceId: string;
  readonly mode: keyof typeof protocolsOf;
  readonly baseUrl: string;
  readonly realm: string;
}

/** An earlier attempt to create an account, whose outcome is unknown. */
export interface EarlierAttempt {
  /** The start of the first attempt, in milliseconds since 1970; undefined if there was none. */
  readonly sinceMs: number | undefined;
  /**
   * Whether no user of the source has this account. If a user has it, it is not new, whatever the directory's response.
   */
  isFree(id: string): Promise<boolean>;
}

/** The parts of one call: the source, one of its protocols, and the remaining time. */
interface Call {
  readonly source: UpstreamSource;
  readonly credentials: UpstreamCredentials;
  readonly protocol: Protocol;
  readonly deadline: AbortSignal;
}

const callsMax = 32;
const retryAfterSeconds = 1;
/** The maximum difference between the clocks of the directory and of the database. */
const clockSkewMs = 60_000;
/** A string that fits into a path and into a subject. Our placeholder subjects begin with `urn:`. */
const idForm = /^(?!urn:)[A-Za-z0-9][A-Za-z0-9._~:@+=-]{0,254}$/;

/**
 * Writes users to the directories of provisioning sources (see docs/reference/scim.md#upstream-directory). Each
 * protocol has the 5 seconds of an outgoing request, including the token request. Callers hold no database connection
 * in the meantime.
 */
export class UpstreamDirectory {
  readonly #outbound: OutboundClient;
  readonly #log: Logger;
  readonly #tokens: UpstreamTokens;
  #credentials: ReadonlyMap<string, UpstreamCredentials> = new Map();
  /** The number of running calls, by source. */
  readonly #calls = new Map<string, number>();

  constructor(outbound: OutboundClient, log: Logger) {
    this.#outbound = outbound;
    this.#log = log;
    this.#tokens = new UpstreamTokens(outbound);
  }

  /** Replaces the credentials of all sources, and discards the access tokens that were obtained with them. */
  use(credentials: ReadonlyMap<string, UpstreamCredentials>): void {
    this.#credentials = credentials;
    this.#tokens.clear();
  }

  /**
   * Creates an account. An existing account is used only if an earlier attempt of this service must have
   * created it: the outcome of that attempt is unknown, the account is not older than the attempt, and no user of the
   * source has it.
   * @returns the id of the account in the directory
   * @throws UpstreamError; Refusal `unavailable` when too many calls are in progress
   */
  create(source: UpstreamSource, user: UpstreamUser, earlier: EarlierAttempt): Promise<string> {
    let { sinceMs } = earlier;
    return this.#tryProtocols(source, async (call) => {
      const beganMs = Date.now();
      try {
        return await this.#createBy(call, user, { ...earlier, sinceMs });
      } catch (error) {
        const { why, isSettled, cause } = upstreamErrorOf(error);
        if (!isSettled) sinceMs ??= beganMs;
        throw new UpstreamError(why, sinceMs === undefined, cause);
      }
    });
  }

  /**
   * Enables or disables an account.
   * @throws UpstreamError, with `isGone` if there is no such account; Refusal `unavailable` as above
   */
  setActive(source: UpstreamSource, id: string, active: boolean): Promise<void> {
    return this.#tryProtocols(source, async (call) => {
      await this.#send(call, call.protocol.setActive(source.realm, id, active));
    });
  }

  async #createBy(call: Call, user: UpstreamUser, earlier: EarlierAttempt): Promise<string> {
    const { protocol, source } = call;
    try {
      const created = idOf(await this.#send(call, protocol.create(source.realm, user)));
      // The account belongs to another user. If it were used and this creation then failed, disabling it would disable
      // that user.
      if (!(await earlier.isFree(created))) throw new UpstreamError('foreign_account', true);
      return created;
    } catch (error) {
      if (upstreamErrorOf(error).why !== 'status_409') throw error;
      const id = await this.#searchOwn(call, user.userName, earlier);
      if (id === undefined) throw error;
      await this.#send(call, protocol.setActive(source.realm, id, user.active));
      return id;
    }
  }

  /** The account of that name, if an earlier attempt of this service must have created it. */
  async #searchOwn(
    call: Call,
    userName: string,
    { sinceMs, isFree }: EarlierAttempt,
  ): Promise<string | undefined> {
    if (sinceMs === undefined) return undefined;
    const { json } = await this.#send(call, call.protocol.search(call.source.realm, userName));
    const [account, ...others] = call.protocol
      .accountsIn(json)
      .filter(({ userName: name }) => String(name).toLowerCase() === userName.toLowerCase());
    if (account === undefined || others.length > 0 || typeof account.id !== 'string') return undefined;
    const isOwn = account.createdMs >= sinceMs - clockSkewMs && idForm.test(account.id);
    return isOwn && (await isFree(account.id)) ? account.id : undefined;
  }

  /** Tries the protocols of the source one after another, until one succeeds. */
  async #tryProtocols<T>(source: UpstreamSource, attempt: (call: Call) => Promise<T>): Promise<T> {
    const { sourceId } = source;
    const credentials = this.#credentialsOf(source);
    const calls = this.#calls.get(sourceId) ?? 0;
    if (calls >= callsMax) fail('unavailable', {}, { headers: { 'retry-after': String(retryAfterSeconds) } });
    this.#calls.set(sourceId, calls + 1);
    const failures: UpstreamError[] = [];
    try {
      for (const protocol of protocolsOf[source.mode]) {
        try {
          const deadline = AbortSignal.timeout(this.#outbound.timeoutMs);
          return await attempt({ source, credentials, protocol, deadline });
        } catch (error) {
          const { why, isSettled, cause } = upstreamErrorOf(error);
          failures.push(new UpstreamError(`${protocol.name}:${why}`, isSettled, cause));
        }
      }
    } finally {
      const left = (this.#calls.get(sourceId) ?? 1) - 1;
      if (left === 0) this.#calls.delete(sourceId);
      else this.#calls.set(sourceId, left);
    }
    const why = failures.map((failure) => failure.why).join(' ');
    this.#log.warn({ provisioningSourceId: sourceId, why }, 'the directory of a source rejected a write');
    const isSettled = failures.every((failure) => failure.isSettled);
    const isGone = failures.every((failure) => failure.why.endsWith(':status_404'));
    throw new UpstreamError(why, isSettled, failures.at(-1)?.cause, isGone);
  }

  /** @throws UpstreamError for a status other than 2xx; @throws OutboundError */
  async #send(call: Call, request: ProtocolRequest): Promise<OutboundAnswer> {
    let token = await this.#tokenFor(call);
    let answer = await this.#sendWith(call, request, token);
    if (answer.status === 401 && !('token' in call.credentials)) {
      this.#tokens.drop(call.source.sourceId, token);
      token = await this.#tokenFor(call);
      answer = await this.#sendWith(call, request, token);
    }
    if (answer.status < 200 || answer.status > 299) throw errorOfStatus(answer.status);
    return answer;
  }

  async #tokenFor({ source, credentials, deadline }: Call): Promise<string> {
    if ('token' in credentials) return credentials.token;
    return this.#tokens.tokenOf(source.sourceId, source.realm, credentials, deadline);
  }

  #sendWith(
    { credentials, protocol, deadline }: Call,
    { method, path, body }: ProtocolRequest,
    token: string,
  ): Promise<OutboundAnswer> {
    const headers = { authorization: `Bearer ${token}`, accept: protocol.mediaType };
    const sent =
      body === undefined
        ? { method, headers }
        : { method, headers: { ...headers, 'content-type': protocol.mediaType }, body: JSON.stringify(body) };
    return this.#outbound.send(credentials.baseUrl + path, sent, deadline);
  }

  #credentialsOf({ sourceId, baseUrl, realm }: UpstreamSource): UpstreamCredentials {
    const credentials = this.#credentials.get(sourceId);
    const isSameAddress = credentials?.baseUrl === withoutSlash(baseUrl);
    if (credentials === undefined || !isSameAddress) {
      this.#log.error(
        { provisioningSourceId: sourceId },
        'nothing is sent without credentials: IAM_UPSTREAM_CREDENTIALS_FILE needs a line with the id of this source and its upstreamBaseUrl',
      );
      throw new UpstreamError(credentials === undefined ? 'no_credentials' : 'other_base_url', true);
    }
    // `..` in the path would escape the realm.
    if (/^\.{0,2}$/.test(realm)) throw new UpstreamError('no_realm', true);
    return credentials;
  }
}

/** The id in the body, or else the last part of `Location`. */
function idOf({ json, location }: OutboundAnswer): string {
  const id = fieldsOf(json)['id'] ?? lastPart(location);
  if (typeof id === 'string' && idForm.test(id)) return id;
  throw new UpstreamError('bad_id', false);
}

function lastPart(location: string | undefined): string | undefined {
  try {
    return decodeURIComponent(new URL(location ?? '', 'http://upstream').pathname.split('/').at(-1) ?? '');
  } catch {
    return undefined;
  }
}
