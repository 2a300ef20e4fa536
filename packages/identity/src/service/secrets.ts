import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { observer } from '@baton/kernel/process/observer';

/** Secret material (see docs/reference/credentials.md#secrets): 256 random bits, stored as SHA-256, shown once. */

export type CredentialKind = 'platform_access_token' | 'legacy_control_plane_api_key' | 'oauth_grant';

/** The public parts of a presented token. */
export interface PresentedToken {
  readonly kind: CredentialKind;
  readonly publicPrefix: string;
}

const forms: readonly [CredentialKind, RegExp][] = [
  ['platform_access_token', /^iam_pat_([0-9a-f]{12})_./s],
  ['legacy_control_plane_api_key', /^cp_([0-9a-f]{12})_./s],
];

const sessionForm = /^iam_ses_([0-9a-f]{12})_./s;
const invitationForm = /^iam_inv_([0-9a-f]{12})_./s;
const administrationForm = /^iam_adm_([0-9a-f]{12})_./s;
const longSecretKinds = { ses: 'browser session', inv: 'invitation', adm: 'administration token' };

const hashOfNothing = '0'.repeat(64);

/** Creates a token, whose plain text is shown once and never stored. */
export function makePlatformAccessToken(): { token: string; publicPrefix: string; secretHash: string } {
  const publicPrefix = randomBytes(6).toString('hex');
  const token = `iam_pat_${publicPrefix}_${randomBytes(32).toString('base64url')}`;
  observer()?.made('platform access token', token);
  return { token, publicPrefix, secretHash: secretHash(token) };
}

export function makeClientId(): string {
  return `iam_sa_${randomBytes(18).toString('base64url')}`;
}

/** Creates a client secret, whose plain text is shown once and never stored. */
export function makeClientSecret(): { clientSecret: string; storedHash: string } {
  const clientSecret = randomBytes(32).toString('base64url');
  observer()?.made('client secret', clientSecret);
  return { clientSecret, storedHash: `sha256:${secretHash(clientSecret)}` };
}

/**
 * Makes the secret of a browser session, an invitation's link or an administration token. The secret is shown once and
 * never stored.
 */
export function makeLongSecret(kind: keyof typeof longSecretKinds): {
  token: string;
  publicPrefix: string;
  secretHash: string;
} {
  const publicPrefix = randomBytes(6).toString('hex');
  const token = `iam_${kind}_${publicPrefix}_${randomBytes(32).toString('base64url')}`;
  observer()?.made(longSecretKinds[kind], token);
  return { token, publicPrefix, secretHash: secretHash(token) };
}

/** The public prefix of a browser session's token; undefined for a token in any other format. */
export function parseSessionToken(token: string): string | undefined {
  return sessionForm.exec(token)?.[1];
}

/** The public prefix of an invitation's secret; undefined for a secret in any other format. */
export function parseInvitationToken(token: string): string | undefined {
  return invitationForm.exec(token)?.[1];
}

/** The public prefix of an administration token; undefined for a token in any other format. */
export function parseAdministrationToken(token: string): string | undefined {
  return administrationForm.exec(token)?.[1];
}

/** Parses a presented token; returns undefined for an unknown format. */
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
 * Whether `presented` is the secret of a stored hash. If there is no stored hash, it is compared with a hash that no
 * secret has, so that an unknown credential takes as long as a known one.
 */
export function isSecretOf(presented: string, stored: string | undefined): boolean {
  const expected = (stored ?? hashOfNothing).replace(/^sha256:/, '');
  return timingSafeEqual(Buffer.from(secretHash(presented)), Buffer.from(expected));
}
