import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from '../../context.ts';
import { deriveKeys } from './seals.ts';

/**
 * Refresh tokens without their prefix: the id of the grant, 16 random bytes and a code that authenticates both. A
 * token that has no row any more is therefore recognized as a former token of its grant (RFC 9700, section 4.14.2),
 * however many rotations ago it was used.
 */

const [idBytes, randomPartBytes, codeBytes] = [16, 16, 16];
const purpose = 'successors of refresh tokens of Baton';

/** The grant of a refresh token, and the secret with which its tokens are authenticated. */
export interface RefreshedGrant {
  readonly credentialId: string;
  readonly secretHash: string;
}

/** The first refresh token of a grant. */
export function makeRefreshToken(grant: RefreshedGrant): string {
  return tokenOf(grant, randomBytes(randomPartBytes));
}

/**
 * The tokens that may follow a token, one per signing key; the first one is issued. They are derived from the token, so
 * that a client whose response was lost gets the same one again, although only hashes are stored.
 */
export function successorsOf(context: Context, grant: RefreshedGrant, refreshToken: string): string[] {
  return deriveKeys(context, purpose).map((key) =>
    tokenOf(grant, createHmac('sha256', key).update(refreshToken).digest().subarray(0, randomPartBytes)),
  );
}

/** The grant that a token contains, not yet authenticated; undefined for a string of another form. */
export function namedGrantOf(refreshToken: string): string | undefined {
  const bytes = Buffer.from(refreshToken, 'base64url');
  if (bytes.length !== idBytes + randomPartBytes + codeBytes) return undefined;
  const hex = bytes.subarray(0, idBytes).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Whether a token was issued for the grant at any time. */
export function isTokenOf(grant: RefreshedGrant, refreshToken: string): boolean {
  if (namedGrantOf(refreshToken) !== grant.credentialId) return false;
  const bytes = Buffer.from(refreshToken, 'base64url');
  const body = bytes.subarray(0, -codeBytes);
  return timingSafeEqual(codeOf(grant, body), bytes.subarray(-codeBytes));
}

function tokenOf(grant: RefreshedGrant, randomPart: Buffer): string {
  const body = Buffer.concat([Buffer.from(grant.credentialId.replaceAll('-', ''), 'hex'), randomPart]);
  return Buffer.concat([body, codeOf(grant, body)]).toString('base64url');
}

function codeOf({ secretHash }: RefreshedGrant, body: Buffer): Buffer {
  return createHmac('sha256', secretHash).update(body).digest().subarray(0, codeBytes);
}
