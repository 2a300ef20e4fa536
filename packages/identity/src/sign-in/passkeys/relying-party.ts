import type { JsonObject } from '@baton/values/wire';
import type { RelyingParty, Settings } from '../settings.ts';
import type { NewCredential, UsedCredential } from './passkey.ts';

/**
 * The rules of WebAuthn, implemented by SimpleWebAuthn. The library is loaded on first use, because most processes and
 * tests never need it, and loading takes 0.3 s.
 */
const library = () => import('@simplewebauthn/server');
const helpers = () => import('@simplewebauthn/server/helpers');

const name = 'Baton';
const [ed25519, es256, rs256] = [-8, -7, -257];
const algorithms = [ed25519, es256, rs256];

type Rules = Pick<
  Settings,
  'relyingParty' | 'IAM_PASSKEY_USER_VERIFICATION' | 'IAM_PASSKEY_CHALLENGE_SECONDS'
>;

export interface NewUser {
  readonly userHandle: string;
  readonly userName: string;
  readonly displayName: string;
  /** The person's existing credentials: an authenticator that holds one of them doesn't create a second one. */
  readonly credentialIds: readonly string[];
}

/** The options for creating a passkey that the authenticator can find without a user name. */
export async function creationOptions(rules: Rules, challenge: string, user: NewUser): Promise<JsonObject> {
  const { generateRegistrationOptions } = await library();
  const options = await generateRegistrationOptions({
    rpName: name,
    rpID: rules.relyingParty.id,
    userName: user.userName,
    userDisplayName: user.displayName,
    userID: new Uint8Array(Buffer.from(user.userHandle, 'base64url')),
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: rules.IAM_PASSKEY_CHALLENGE_SECONDS * 1000,
    attestationType: 'none',
    excludeCredentials: user.credentialIds.map((id) => ({ id })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: rules.IAM_PASSKEY_USER_VERIFICATION,
    },
    supportedAlgorithmIDs: algorithms,
  });
  return plain(options);
}

/** The options for a sign-in: the person chooses among the passkeys that the authenticator finds. */
export async function requestOptions(rules: Rules, challenge: string): Promise<JsonObject> {
  const { generateAuthenticationOptions } = await library();
  const options = await generateAuthenticationOptions({
    rpID: rules.relyingParty.id,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: rules.IAM_PASSKEY_CHALLENGE_SECONDS * 1000,
    userVerification: rules.IAM_PASSKEY_USER_VERIFICATION,
  });
  return plain(options);
}

export interface VerifiedPasskey {
  readonly credentialId: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  readonly signCount: number;
  readonly transports: readonly string[];
  readonly isSynced: boolean;
  readonly isBackedUp: boolean;
  readonly isUserVerified: boolean;
}

/**
 * @returns the new passkey or, for the log, the reason why the response is not accepted
 */
export async function verifyCreation(
  rules: Rules,
  challenge: string,
  credential: NewCredential,
): Promise<VerifiedPasskey | string> {
  try {
    const { verifyRegistrationResponse } = await library();
    // Rejected, because verifying an attestation with a certificate would send requests to addresses that the
    // certificate names.
    if (await hasCertificates(credential)) return 'attestation_with_certificates';
    if (isEmbedded(credential)) return 'embedded_page';
    const { registrationInfo: found } = await verifyRegistrationResponse({
      response: { ...credential, clientExtensionResults: {} },
      expectedChallenge: challenge,
      ...expected(rules),
      supportedAlgorithmIDs: algorithms,
    });
    if (found === undefined) return 'wrong_attestation';
    return {
      credentialId: found.credential.id,
      publicKey: Buffer.from(found.credential.publicKey).toString('base64url'),
      signCount: found.credential.counter,
      transports: [...new Set(credential.response.transports)].sort(),
      isSynced: found.credentialDeviceType === 'multiDevice',
      isBackedUp: found.credentialBackedUp,
      isUserVerified: found.userVerified,
    };
  } catch (error) {
    return reasonOf(error);
  }
}

async function hasCertificates({ response }: NewCredential): Promise<boolean> {
  const { decodeAttestationObject, isoBase64URL } = await helpers();
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const format = attestation.get('fmt');
  // Self-attestation with the new key itself has no certificate.
  return format !== 'none' && (format !== 'packed' || attestation.get('attStmt').get('x5c') !== undefined);
}

export interface KnownPasskey {
  readonly credential_id: string;
  readonly public_key: string;
  readonly sign_count: number;
}

export interface VerifiedUse {
  readonly signCount: number;
  readonly isSynced: boolean;
  readonly isBackedUp: boolean;
  readonly isUserVerified: boolean;
}

/**
 * @returns the content of the response or, for the audit record, the reason why it is not accepted
 */
export async function verifyUse(
  rules: Rules,
  challenge: string,
  credential: UsedCredential,
  passkey: KnownPasskey,
): Promise<VerifiedUse | string> {
  try {
    const { verifyAuthenticationResponse } = await library();
    if (isEmbedded(credential)) return 'embedded_page';
    const { verified, authenticationInfo: found } = await verifyAuthenticationResponse({
      response: { ...credential, clientExtensionResults: {} } as never,
      expectedChallenge: challenge,
      ...expected(rules),
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
        counter: passkey.sign_count,
      },
    });
    if (!verified) return 'wrong_signature';
    return {
      signCount: found.newCounter,
      isSynced: found.credentialDeviceType === 'multiDevice',
      isBackedUp: found.credentialBackedUp,
      isUserVerified: found.userVerified,
    };
  } catch (error) {
    return reasonOf(error);
  }
}

/** The page was a frame in a page of another origin, which could have hidden what the person agreed to. */
function isEmbedded({ response }: NewCredential | UsedCredential): boolean {
  const data = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString()) as object;
  return 'crossOrigin' in data && data.crossOrigin !== false;
}

/** What browsers must have signed: one of our origins, and our relying party. */
function expected({ relyingParty, IAM_PASSKEY_USER_VERIFICATION }: Rules) {
  const { id, origins }: RelyingParty = relyingParty;
  return {
    expectedOrigin: [...origins],
    expectedRPID: id,
    requireUserVerification: IAM_PASSKEY_USER_VERIFICATION === 'required',
  };
}

/** The library names the rule in its message, which may repeat what was sent: only our own words are recorded. */
const reasons: readonly [RegExp, string][] = [
  [/challenge/i, 'wrong_challenge'],
  [/origin/i, 'wrong_origin'],
  [/RP ID/, 'wrong_relying_party'],
  [/counter/i, 'counter_not_increased'],
  [/user verification/i, 'user_not_verified'],
  [/not present/i, 'user_not_present'],
];

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return reasons.find(([form]) => form.test(message))?.[1] ?? 'malformed';
}

function plain(options: object): JsonObject {
  return JSON.parse(JSON.stringify(options)) as JsonObject;
}
