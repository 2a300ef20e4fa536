import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { type JWTPayload, SignJWT } from 'jose';
import type { Settings } from '../config.ts';
import { fail } from '../service.ts';
import { readSigningKey, type SigningKey, SigningKeyError } from './signing-key.ts';
import { rememberKey } from './signing-keys.sql.ts';

/** No key is configured: key document and exchanges answer 500, and nothing is stored (contract, section 4). */
class NoSigningKeyError extends Error {
  constructor() {
    super('no signing key is configured: set IAM_SIGNING_KEY_FILE');
    this.name = 'NoSigningKeyError';
  }
}

/** The key in use, parsed once, and the bounded line of signatures that wait for it. */
export class SigningKeys {
  #key: SigningKey | undefined;
  #waiting = 0;
  readonly #waitingMax: number;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Signatures under way or waiting for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Reads the key from its settings again, and compares it with the one that was last used under its name.
   * @throws SigningKeyError, also for a key that is gone, or what the store threw; the key that was in use stays in use
   */
  async load(settings: Settings, pool: Pool, log: Logger): Promise<void> {
    const key = await readSigningKey(settings);
    if (key === undefined) {
      if (this.#key !== undefined) throw new SigningKeyError('The signing key is gone.');
      log.warn('no signing key: the key document and every exchange answer 500 until one is configured');
      return;
    }
    const { kid, thumbprint } = key;
    const former = (await pool.row(rememberKey(kid, thumbprint)))?.former_thumbprint;
    this.#key = key;
    if (former !== undefined && former !== thumbprint) {
      log.warn(
        { kid, thumbprint, formerThumbprint: former },
        'ANOTHER KEY UNDER THE SAME KID: consumers go on trusting the old one. Change IAM_SIGNING_KEY_ID with the key.',
      );
    }
  }

  /** @throws NoSigningKeyError, answered 500 */
  current(): SigningKey {
    if (this.#key === undefined) throw new NoSigningKeyError();
    return this.#key;
  }

  get isPresent(): boolean {
    return this.#key !== undefined;
  }

  /**
   * Signs an access token (RS256) off the event loop.
   * @throws Refusal `unavailable` when too many wait already: a longer line would only answer later
   */
  async sign(claims: JWTPayload): Promise<string> {
    const { kid, privateKey } = this.current();
    if (this.#waiting >= this.#waitingMax) fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    this.#waiting += 1;
    try {
      return await new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
        .sign(privateKey);
    } finally {
      this.#waiting -= 1;
    }
  }
}
