import type { Logger } from '@baton/kernel/log';
import type { OutboundAnswer, OutboundClient } from '../../operations/outbound/outbound.ts';
import { fail } from '../errors.ts';
import { type UpstreamCredentials, withoutSlash } from './credentials.ts';
import { fieldsOf, type Road, type RoadRequest, roadsOf, type UpstreamUser } from './roads.ts';
import { errorOfStatus, UpstreamError, upstreamErrorOf } from './upstream-error.ts';
import { UpstreamTokens } from './upstream-tokens.ts';

/** The directory that a source writes to before it writes here. */
export interface UpstreamSource {
  readonly sourceId: string;
  readonly mode: keyof typeof roadsOf;
  readonly baseUrl: string;
  readonly realm: string;
}

/** What may have made an account before. */
export interface FormerAttempt {
  /** When the first attempt began whose outcome is unknown, if there was one: milliseconds since 1970. */
  readonly sinceMs: number | undefined;
  /** Whether no user of the source has the account: then it is no new one either, whatever a directory says. */
  isFree(id: string): Promise<boolean>;
}

/** One road of a source, and until when it may be walked. */
interface Way {
  readonly source: UpstreamSource;
  readonly credentials: UpstreamCredentials;
  readonly road: Road;
  readonly deadline: AbortSignal;
}

const callsMax = 32;
const retryAfterSeconds = 1;
/** Two clocks: the directory's and the database's. */
const clockSkewMs = 60_000;
/** Fit for a path and for a subject; placeholders of ours begin with `urn:`. */
const idForm = /^(?!urn:)[A-Za-z0-9][A-Za-z0-9._~:@+=-]{0,254}$/;

/**
 * Writes users to the directories of provisioning sources (contract, section 10.8). Each road of a source has the 5
 * seconds of an outgoing request, its token included. No connection of the database is held meanwhile.
 */
export class UpstreamDirectory {
  readonly #outbound: OutboundClient;
  readonly #log: Logger;
  readonly #tokens: UpstreamTokens;
  #credentials: ReadonlyMap<string, UpstreamCredentials> = new Map();
  /** Calls under way, by source. */
  readonly #calls = new Map<string, number>();

  constructor(outbound: OutboundClient, log: Logger) {
    this.#outbound = outbound;
    this.#log = log;
    this.#tokens = new UpstreamTokens(outbound);
  }

  /** Takes other credentials from now on. */
  use(credentials: ReadonlyMap<string, UpstreamCredentials>): void {
    this.#credentials = credentials;
    this.#tokens.clear();
  }

  /**
   * Makes an account. One that is there already is taken only if an attempt of ours must have made it: the outcome of
   * that one is unknown, the account is not older, and it is nobody's here.
   * @returns the id of the account there
   * @throws UpstreamError; Refusal `unavailable` when too many calls are under way
   */
  create(source: UpstreamSource, user: UpstreamUser, former: FormerAttempt): Promise<string> {
    let { sinceMs } = former;
    return this.#byRoads(source, async (way) => {
      const beganMs = Date.now();
      try {
        return await this.#createOn(way, user, { ...former, sinceMs });
      } catch (error) {
        const { why, isSettled, cause } = upstreamErrorOf(error);
        if (!isSettled) sinceMs ??= beganMs;
        throw new UpstreamError(why, sinceMs === undefined, cause);
      }
    });
  }

  /** @throws UpstreamError, which `isGone` when there is no such account; Refusal `unavailable` as above */
  switchActive(source: UpstreamSource, id: string, active: boolean): Promise<void> {
    return this.#byRoads(source, async (way) => {
      await this.#send(way, way.road.switchActive(source.realm, id, active));
    });
  }

  async #createOn(way: Way, user: UpstreamUser, former: FormerAttempt): Promise<string> {
    const { road, source } = way;
    try {
      const made = idOf(await this.#send(way, road.create(source.realm, user)));
      // To take it back when it can't be stored would switch that user off.
      if (!(await former.isFree(made))) throw new UpstreamError('foreign_account', true);
      return made;
    } catch (error) {
      if (upstreamErrorOf(error).why !== 'status_409') throw error;
      const id = await this.#findOwn(way, user.userName, former);
      if (id === undefined) throw error;
      await this.#send(way, road.switchActive(source.realm, id, user.active));
      return id;
    }
  }

  async #findOwn(
    way: Way,
    userName: string,
    { sinceMs, isFree }: FormerAttempt,
  ): Promise<string | undefined> {
    if (sinceMs === undefined) return undefined;
    const { json } = await this.#send(way, way.road.find(way.source.realm, userName));
    const [account, ...others] = way.road
      .found(json)
      .filter(({ userName: name }) => String(name).toLowerCase() === userName.toLowerCase());
    if (account === undefined || others.length > 0 || typeof account.id !== 'string') return undefined;
    const isOwn = account.createdMs >= sinceMs - clockSkewMs && idForm.test(account.id);
    return isOwn && (await isFree(account.id)) ? account.id : undefined;
  }

  /** Takes the first road that leads to the end. */
  async #byRoads<T>(source: UpstreamSource, walk: (way: Way) => Promise<T>): Promise<T> {
    const { sourceId } = source;
    const credentials = this.#credentialsOf(source);
    const calls = this.#calls.get(sourceId) ?? 0;
    if (calls >= callsMax) fail('unavailable', {}, { headers: { 'retry-after': String(retryAfterSeconds) } });
    this.#calls.set(sourceId, calls + 1);
    const failures: UpstreamError[] = [];
    try {
      for (const road of roadsOf[source.mode]) {
        try {
          const deadline = AbortSignal.timeout(this.#outbound.timeoutMs);
          return await walk({ source, credentials, road, deadline });
        } catch (error) {
          const { why, isSettled, cause } = upstreamErrorOf(error);
          failures.push(new UpstreamError(`${road.name}:${why}`, isSettled, cause));
        }
      }
    } finally {
      const left = (this.#calls.get(sourceId) ?? 1) - 1;
      if (left === 0) this.#calls.delete(sourceId);
      else this.#calls.set(sourceId, left);
    }
    const why = failures.map((failure) => failure.why).join(' ');
    this.#log.warn({ provisioningSourceId: sourceId, why }, 'the directory of a source refused a write');
    const isSettled = failures.every((failure) => failure.isSettled);
    const isGone = failures.every((failure) => failure.why.endsWith(':status_404'));
    throw new UpstreamError(why, isSettled, failures.at(-1)?.cause, isGone);
  }

  /** @throws UpstreamError for any status but one of success; @throws OutboundError */
  async #send(way: Way, request: RoadRequest): Promise<OutboundAnswer> {
    let token = await this.#tokenFor(way);
    let answer = await this.#sendWith(way, request, token);
    if (answer.status === 401 && !('token' in way.credentials)) {
      this.#tokens.drop(way.source.sourceId, token);
      token = await this.#tokenFor(way);
      answer = await this.#sendWith(way, request, token);
    }
    if (answer.status < 200 || answer.status > 299) throw errorOfStatus(answer.status);
    return answer;
  }

  async #tokenFor({ source, credentials, deadline }: Way): Promise<string> {
    if ('token' in credentials) return credentials.token;
    return this.#tokens.tokenOf(source.sourceId, source.realm, credentials, deadline);
  }

  #sendWith(
    { credentials, road, deadline }: Way,
    { method, path, body }: RoadRequest,
    token: string,
  ): Promise<OutboundAnswer> {
    const headers = { authorization: `Bearer ${token}`, accept: road.mediaType };
    const sent =
      body === undefined
        ? { method, headers }
        : { method, headers: { ...headers, 'content-type': road.mediaType }, body: JSON.stringify(body) };
    return this.#outbound.send(credentials.baseUrl + path, sent, deadline);
  }

  #credentialsOf({ sourceId, baseUrl, realm }: UpstreamSource): UpstreamCredentials {
    const credentials = this.#credentials.get(sourceId);
    const isTheirs = credentials?.baseUrl === withoutSlash(baseUrl);
    if (credentials === undefined || !isTheirs) {
      this.#log.error(
        { provisioningSourceId: sourceId },
        'nothing is sent without credentials: IAM_UPSTREAM_CREDENTIALS_FILE needs a line with the id of this source and its upstreamBaseUrl',
      );
      throw new UpstreamError(credentials === undefined ? 'no_credentials' : 'other_base_url', true);
    }
    // Dots would lead out of the path of the realm.
    if (/^\.{0,2}$/.test(realm)) throw new UpstreamError('no_realm', true);
    return credentials;
  }
}

/** The id in the body, else the last part of `Location`. */
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
