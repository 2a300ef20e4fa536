import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { observer } from '@baton/kernel/observer';

/** Secret material (contract, section 3): 256 random bits, kept as SHA-256, shown once. */

export type CredentialKind = 'platform_access_token' | 'legacy_control_plane_api_key';

/** A presented credential, taken apart as far as its form goes. */
export interface PresentedToken {
  readonly kind: CredentialKind;
  readonly publicPrefix: string;
}

const forms: readonly [CredentialKind, RegExp][] = [
  ['platform_access_token', /^iam_pat_([0-9a-f]{12})_./s],
  ['legacy_control_plane_api_key', /^cp_([0-9a-f]{12})_./s],
];

const hashOfNothing = '0'.repeat(64);

/** A new token; its text is to be shown once and never stored. */
export function makePlatformAccessToken(): { token: string; publicPrefix: string; secretHash: string } {
  const publicPrefix = randomBytes(6).toString('hex');
  const token = `iam_pat_${publicPrefix}_${randomBytes(32).toString('base64url')}`;
  observer()?.made('platform access token', token);
  return { token, publicPrefix, secretHash: secretHash(token) };
}

export function makeClientId(): string {
  return `iam_sa_${randomBytes(18).toString('base64url')}`;
}

/** A new client secret; its text is to be shown once and never stored. */
export function makeClientSecret(): { clientSecret: string; storedHash: string } {
  const clientSecret = randomBytes(32).toString('base64url');
  observer()?.made('client secret', clientSecret);
  return { clientSecret, storedHash: `sha256:${secretHash(clientSecret)}` };
}

/** The public part of a presented token, or undefined when it isn't of a known form. */
export function parsePresentedToken(token: string): PresentedToken | undefined {
  for (const [kind, form] of forms) {
    const publicPrefix = form.exec(token)?.[1];
    if (publicPrefix !== undefined) return { kind, publicPrefix };
  }
  return undefined;
}

/** SHA-256 in lower-case hexadecimal digits. */
export function secretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/**
 * Whether `presented` is the secret behind a stored hash. An unknown credential (no stored hash) costs the same as a
 * known one: it is compared with a hash that nothing has.
 */
export function isSecretOf(presented: string, stored: string | undefined): boolean {
  const expected = (stored ?? hashOfNothing).replace(/^sha256:/, '');
  return timingSafeEqual(Buffer.from(secretHash(presented)), Buffer.from(expected));
}
