import { sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { JWTPayload } from 'jose';
import { fail } from '../errors.ts';
import type { SigningKey } from './signing-key.ts';

/** If fewer signatures than this are running or queued, a core could soon be idle. */
const signaturesAheadMin = availableParallelism() + 1;

/**
 * Signs tokens. RSA takes most of a millisecond, so it runs on the thread pool, with a bounded queue. The elliptic
 * curves take about 30 µs, less than dispatching them to a thread, so they are signed synchronously.
 */
export class Signatures {
  #waiting = 0;
  #free: PromiseWithResolvers<void> | undefined;
  readonly #waitingMax: number;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** The number of RSA signatures that run or wait for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a core could soon be idle; undefined if that is already so. */
  whenFree(): Promise<void> | undefined {
    if (this.#waiting < signaturesAheadMin) return undefined;
    this.#free ??= Promise.withResolvers<void>();
    return this.#free.promise;
  }

  /**
   * Signs an access token, or a token of another type, with the algorithm of the key. If the queue is full, it throws
   * at once instead of returning a promise, so that the caller records nothing.
   * @throws Refusal `unavailable` when the queue is full
   */
  sign({ algorithm, kid, privateKey: key }: SigningKey, claims: JWTPayload, typ = 'at+jwt'): Promise<string> {
    const signed = `${base64urlOf({ alg: algorithm, typ, kid })}.${base64urlOf(claims)}`;
    const bytes = Buffer.from(signed, 'latin1');
    if (algorithm === 'RS256') return this.#signInTurn(key, bytes).then((made) => tokenOf(signed, made));
    // JWS concatenates the two numbers of an ES256 signature (RFC 7518, section 3.4).
    const made =
      algorithm === 'ES256'
        ? sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' })
        : sign(null, bytes, key);
    return Promise.resolve(tokenOf(signed, made));
  }

  #signInTurn(key: SigningKey['privateKey'], bytes: Buffer): Promise<Buffer> {
    if (this.#waiting >= this.#waitingMax) fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    this.#waiting += 1;
    return new Promise((done, failed) => {
      sign('RSA-SHA256', bytes, key, (error, signature) => {
        this.#waiting -= 1;
        if (this.#waiting < signaturesAheadMin) this.#resolveFree();
        if (error === null) done(signature);
        else failed(error);
      });
    });
  }

  #resolveFree(): void {
    this.#free?.resolve();
    this.#free = undefined;
  }
}

function base64urlOf(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function tokenOf(signed: string, signature: Buffer): string {
  return `${signed}.${signature.toString('base64url')}`;
}
