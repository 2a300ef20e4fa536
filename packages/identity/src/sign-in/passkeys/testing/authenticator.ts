import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type Cbor, encodeCbor } from './cbor.ts';

/** The options that the service sends; only the parts that an authenticator reads. */
interface CreationOptions {
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
  readonly challenge: string;
}
interface RequestOptions {
  readonly rpId: string;
  readonly challenge: string;
}

/** What a test makes the authenticator or the browser do wrong. */
export interface Deviations {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly userVerified?: boolean;
  readonly userPresent?: boolean;
  readonly userHandle?: string;
  readonly credentialId?: string;
  readonly attestation?: { readonly fmt: string; readonly attStmt: Map<string, Cbor> };
  /** The counter in the assertion, instead of the next one. */
  readonly counter?: number;
  /** The key that signs instead of the right one. */
  readonly key?: KeyObject;
}

export interface AuthenticatorChoices {
  readonly algorithm?: 'ES256' | 'EdDSA';
  /** The passkey may be copied to other devices. */
  readonly isSynced?: boolean;
  /** The authenticator counts its uses; synced passkeys usually don't. */
  readonly counts?: boolean;
  readonly origin?: string;
}

export const testOrigin = 'http://localhost:8010';

/** An authenticator with one passkey, and the browser around it. */
export class VirtualAuthenticator {
  readonly credentialId = randomBytes(32).toString('base64url');
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject };
  readonly #choices: Required<AuthenticatorChoices>;
  #userHandle = '';
  #counter = 0;

  constructor(choices: AuthenticatorChoices = {}) {
    this.#choices = { algorithm: 'ES256', isSynced: true, counts: false, origin: testOrigin, ...choices };
    this.#keys =
      this.#choices.algorithm === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  }

  get userHandle(): string {
    return this.#userHandle;
  }

  /** The count of the next use, for a copy of this authenticator. */
  get counter(): number {
    return this.#counter;
  }

  /** `navigator.credentials.create` */
  create(options: unknown, deviations: Deviations = {}): object {
    const { rp, user, challenge } = options as CreationOptions;
    this.#userHandle = user.id;
    const id = deviations.credentialId ?? this.credentialId;
    const rawId = Buffer.from(id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(rawId.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, rawId, encodeCbor(this.#publicKey())]);
    const authData = this.#authenticatorData(rp.id, 0, deviations, attested);
    const { fmt = 'none', attStmt = new Map<string, Cbor>() } = deviations.attestation ?? {};
    const attestation = new Map<string, Cbor>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', authData],
    ]);
    return {
      id,
      rawId: id,
      type: 'public-key',
      // Browsers send more than the service reads.
      authenticatorAttachment: 'platform',
      clientExtensionResults: { credProps: { rk: true } },
      response: {
        clientDataJSON: this.#clientData('webauthn.create', challenge, deviations).toString('base64url'),
        attestationObject: encodeCbor(attestation).toString('base64url'),
        transports: ['internal', 'hybrid'],
      },
    };
  }

  /** `navigator.credentials.get` */
  get(options: unknown, deviations: Deviations = {}): object {
    const { rpId, challenge } = options as RequestOptions;
    if (this.#choices.counts) this.#counter += 1;
    const counter = deviations.counter ?? this.#counter;
    const clientData = this.#clientData('webauthn.get', challenge, deviations);
    const authData = this.#authenticatorData(rpId, counter, deviations);
    const signed = Buffer.concat([authData, sha256(clientData)]);
    const key = deviations.key ?? this.#keys.privateKey;
    const signature = sign(this.#choices.algorithm === 'ES256' ? 'sha256' : null, signed, key);
    const id = deviations.credentialId ?? this.credentialId;
    return {
      id,
      rawId: id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: deviations.userHandle ?? this.#userHandle,
      },
    };
  }

  #clientData(type: string, challenge: string, deviations: Deviations): Buffer {
    const data = {
      type: deviations.type ?? type,
      challenge: deviations.challenge ?? challenge,
      origin: deviations.origin ?? this.#choices.origin,
      crossOrigin: deviations.crossOrigin ?? false,
    };
    return Buffer.from(JSON.stringify(data));
  }

  #authenticatorData(rpId: string, counter: number, deviations: Deviations, attested?: Buffer): Buffer {
    const { isSynced } = this.#choices;
    const flags =
      (deviations.userPresent === false ? 0 : 0x01) |
      (deviations.userVerified === false ? 0 : 0x04) |
      (isSynced ? 0x18 : 0) |
      (attested === undefined ? 0 : 0x40);
    const rest = Buffer.alloc(5);
    rest[0] = flags;
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(Buffer.from(deviations.rpId ?? rpId)), rest, attested ?? Buffer.alloc(0)]);
  }

  /** COSE (RFC 9053). */
  #publicKey(): Map<number, Cbor> {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const bytes = (text: string) => Buffer.from(text, 'base64url');
    if (this.#choices.algorithm === 'EdDSA')
      return new Map<number, Cbor>([
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytes(x)],
      ]);
    return new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ]);
  }
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
