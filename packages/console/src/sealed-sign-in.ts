import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** A pending sign-in, sealed in the browser's cookie. Only this process can read or change it. */
export interface BegunSignIn {
  readonly provider: string;
  readonly clientId: string;
  readonly nonce: string;
  /** The PKCE code verifier. */
  readonly verifier: string;
  /** The console path to open afterwards. */
  readonly next: string;
  /** The key of the page that started it, to whose storage the session is bound. */
  readonly pageKeyHash: string;
  /** The key of the browser's current session. */
  readonly session: string | undefined;
  /** The redirect URI of the address at which the browser has opened the console. */
  readonly redirectUri: string;
  /** The secret of the invitation that this sign-in accepts. */
  readonly invitation: string | undefined;
  /** Whether an administrator tests the provider: the result is stored in their session, and nobody is signed in. */
  readonly isTest: boolean;
}

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes, randomStateBytes, timeBytes, macBytes] = [12, 16, 24, 6, 24];
const sealedForm = /^[\w-]{40,3800}$/;
const stateForm = /^[\w-]{72}$/;

/**
 * Seals pending sign-ins into cookies, so that the server stores none and cannot run out of space for them. The keys
 * live as long as the process.
 */
export class SignInSeals {
  readonly #sealKey = randomBytes(32);
  readonly #stateKey = randomBytes(32);

  /** @returns a state of 192 random bits, with its expiry and a MAC of this process */
  newState(endsAtMs: number): string {
    const body = Buffer.alloc(randomStateBytes + timeBytes);
    randomBytes(randomStateBytes).copy(body);
    body.writeUIntBE(Math.round(endsAtMs), randomStateBytes, timeBytes);
    return Buffer.concat([body, this.#sign(body)]).toString('base64url');
  }

  /** @returns the expiry of a state; undefined for one that this process has not created */
  readExpiry(state: string): number | undefined {
    if (!stateForm.test(state)) return undefined;
    const bytes = Buffer.from(state, 'base64url');
    const body = bytes.subarray(0, randomStateBytes + timeBytes);
    const isOurs = timingSafeEqual(bytes.subarray(body.length), this.#sign(body));
    return isOurs ? body.readUIntBE(randomStateBytes, timeBytes) : undefined;
  }

  /** @returns at most 3,800 base64url characters that can be opened with this state only; undefined if longer */
  seal(begun: BegunSignIn, state: string): string | undefined {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#sealKey, iv).setAAD(Buffer.from(state));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(begun)), cipher.final()]);
    const text = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    return sealedForm.test(text) ? text : undefined;
  }

  /** @returns undefined for a text that was not sealed with this state */
  open(text: string, state: string): BegunSignIn | undefined {
    if (!sealedForm.test(text)) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv(algorithm, this.#sealKey, bytes.subarray(0, ivBytes))
        .setAAD(Buffer.from(state))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      const opened = [decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()];
      return JSON.parse(Buffer.concat(opened).toString()) as BegunSignIn;
    } catch {
      return undefined;
    }
  }

  #sign(body: Buffer): Buffer {
    return createHmac('sha256', this.#stateKey).update(body).digest().subarray(0, macBytes);
  }
}
