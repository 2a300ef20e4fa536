import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a browser carries of a sign-in that it has begun. Nobody but this process can read or change it. */
export interface BegunSignIn {
  readonly provider: string;
  readonly clientId: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  /** Where in the console to go afterwards. */
  readonly next: string;
  /** Of the page that began it: the session will be for its storage. */
  readonly pageKeyHash: string;
  /** The key of the session that the browser has now. */
  readonly session: string | undefined;
}

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes, randomStateBytes, timeBytes, macBytes] = [12, 16, 24, 6, 24];
const sealedForm = /^[\w-]{40,3800}$/;
const stateForm = /^[\w-]{72}$/;

/**
 * Seals sign-ins into texts that browsers carry, so that none is kept here: however many others are begun, each can be
 * finished. The keys live as long as the process.
 */
export class SignInSeals {
  readonly #sealKey = randomBytes(32);
  readonly #stateKey = randomBytes(32);

  /** @returns a state of 192 random bits, with its end and a mark by which this process knows it again */
  newState(endsAtMs: number): string {
    const body = Buffer.alloc(randomStateBytes + timeBytes);
    randomBytes(randomStateBytes).copy(body);
    body.writeUIntBE(Math.round(endsAtMs), randomStateBytes, timeBytes);
    return Buffer.concat([body, this.#markOf(body)]).toString('base64url');
  }

  /** @returns when a state ends; undefined for one that this process has not made */
  endOf(state: string): number | undefined {
    if (!stateForm.test(state)) return undefined;
    const bytes = Buffer.from(state, 'base64url');
    const body = bytes.subarray(0, randomStateBytes + timeBytes);
    const isOurs = timingSafeEqual(bytes.subarray(body.length), this.#markOf(body));
    return isOurs ? body.readUIntBE(randomStateBytes, timeBytes) : undefined;
  }

  /** @returns a text of at most 3,800 letters, digits, - and _, which opens beside this state only; undefined if too long */
  seal(begun: BegunSignIn, state: string): string | undefined {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#sealKey, iv).setAAD(Buffer.from(state));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(begun)), cipher.final()]);
    const text = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    return sealedForm.test(text) ? text : undefined;
  }

  /** @returns undefined for a text that is not the one sealed with this state */
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

  #markOf(body: Buffer): Buffer {
    return createHmac('sha256', this.#stateKey).update(body).digest().subarray(0, macBytes);
  }
}
