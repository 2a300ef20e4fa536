import { createHmac, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { deleteExpiredChallenges, insertUsedChallenge } from './challenges.sql.ts';

/**
 * Challenges of WebAuthn (see docs/reference/passkeys.md#challenges). A challenge has no row until a valid response
 * uses it: its text, its expiry and its purpose are sealed and given to the client, so strangers can request any number
 * of them. The key of the seal is derived from the signing key, which every process has and the database doesn't.
 */

/** What a challenge is for; a response for one purpose is not accepted for another. */
export interface Challenge {
  readonly challenge: string;
  readonly purpose: 'sign-in' | 'register' | 'accept';
  /** The person or the invitation for which the challenge was made; empty for a sign-in. */
  readonly about: string;
  /** The handle of the user who gets a new passkey; empty for a sign-in. */
  readonly userHandle: string;
}

interface Sealed extends Challenge {
  readonly endsAtMs: number;
}

export const stateLengthMax = 1000;
const challengeBytes = 32;
const macBytes = 32;
const info = 'passkey challenges of Baton';
/**
 * More than the clocks of processes differ, so that a used challenge is stored until no process accepts it any more.
 */
const storedLongerSeconds = 900;
const deletedMax = 100;

const sealKeys = new WeakMap<KeyObject, Buffer>();

/** @returns a new challenge, and the state that the client sends back with the response */
export function makeChallenge(
  { signingKeys, settings }: Pick<Context, 'signingKeys' | 'settings'>,
  what: Omit<Challenge, 'challenge'>,
): { challenge: string; state: string } {
  const challenge = randomBytes(challengeBytes).toString('base64url');
  const endsAtMs = Date.now() + settings.IAM_PASSKEY_CHALLENGE_SECONDS * 1000;
  const sealed: Sealed = { ...what, challenge, endsAtMs };
  const body = Buffer.from(JSON.stringify(sealed));
  const [key] = signingKeys.sharedKeys();
  const state = Buffer.concat([macOf(key as KeyObject, body), body]).toString('base64url');
  return { challenge, state };
}

/**
 * @returns undefined for a state that none of our processes made, that has expired, or that is for something else
 */
export function openChallenge(
  { signingKeys }: Pick<Context, 'signingKeys'>,
  state: string,
  { purpose, about }: Pick<Challenge, 'purpose' | 'about'>,
): Challenge | undefined {
  const bytes = Buffer.from(state, 'base64url');
  const [mac, body] = [bytes.subarray(0, macBytes), bytes.subarray(macBytes)];
  if (mac.length !== macBytes) return undefined;
  if (!signingKeys.sharedKeys().some((key) => timingSafeEqual(mac, macOf(key, body)))) return undefined;
  const sealed = JSON.parse(body.toString()) as Sealed;
  const isFor = sealed.purpose === purpose && sealed.about === about;
  return isFor && sealed.endsAtMs > Date.now() ? sealed : undefined;
}

/**
 * Uses up a challenge, in the same transaction as the effect of its response. Only valid responses get here, so
 * strangers can't fill the table.
 * @returns whether this is the challenge's first use, in any process
 */
export async function useChallenge(
  db: Db,
  { challenge }: Pick<Challenge, 'challenge'>,
  settings: Context['settings'],
): Promise<boolean> {
  await db.run(deleteExpiredChallenges(deletedMax));
  const keptSeconds = settings.IAM_PASSKEY_CHALLENGE_SECONDS + storedLongerSeconds;
  return (await db.row(insertUsedChallenge(secretHash(challenge), keptSeconds))) !== undefined;
}

function macOf(key: KeyObject, body: Buffer): Buffer {
  let sealKey = sealKeys.get(key);
  if (sealKey === undefined) {
    const secret = key.export({ type: 'pkcs8', format: 'der' });
    sealKey = Buffer.from(hkdfSync('sha256', secret, '', info, 32));
    sealKeys.set(key, sealKey);
  }
  return createHmac('sha256', sealKey).update(body).digest();
}
