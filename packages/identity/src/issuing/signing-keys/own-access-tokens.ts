import { type JWTPayload, jwtVerify } from 'jose';
import { Uuid } from '@baton/values/wire';
import type { Settings } from '../settings.ts';
import type { SigningKeys } from './signing-keys.ts';

/** The verified claims of an access token of this issuer. */
export interface OwnClaims extends JWTPayload {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly tenant_id: string;
  readonly credential_id: string;
}

/** The reason why a string is not a valid access token of this issuer, for the log. */
export class AccessTokenRefused extends Error {
  override readonly name = 'AccessTokenRefused';
}

/**
 * Verifies an access token of this issuer: form, signature, issuer, times, and one audience. The caller must check for
 * revocations since it was issued.
 * @param audience undefined accepts any audience
 * @throws AccessTokenRefused
 */
export async function verifyOwnAccessToken(
  token: string,
  { keys, settings, audience }: { keys: SigningKeys; settings: Settings; audience?: string },
): Promise<OwnClaims> {
  // Accepts any published key: during a key rotation, processes may sign with different ones. Each key verifies only
  // its own algorithm.
  const keyOf = ({ kid, alg }: { kid?: string; alg?: string }) => {
    const key = keys.verifying(kid) ?? refuse('unknown key');
    return key.algorithm === alg ? key.publicKey : refuse('another algorithm than its key');
  };
  try {
    const { payload } = await jwtVerify(token, keyOf, {
      algorithms: ['RS256', 'ES256', 'EdDSA'],
      issuer: settings.issuer,
      typ: 'at+jwt',
      requiredClaims: ['iss', 'sub', 'tenant_id', 'aud', 'iat', 'nbf', 'exp', 'jti', 'credential_id'],
      ...(audience !== undefined && { audience }),
    });
    if (typeof payload.aud !== 'string') return refuse('several audiences');
    if (![payload.exp, payload.iat, payload.nbf].every(Number.isSafeInteger))
      return refuse('malformed times');
    const ids = [payload.sub, payload['tenant_id'], payload['credential_id']];
    if (!ids.every((id) => Uuid.safeParse(id).success)) return refuse('malformed ids');
    return payload as OwnClaims;
  } catch (error) {
    if (error instanceof AccessTokenRefused) throw error;
    return refuse((error as { code?: string }).code ?? 'unreadable');
  }
}

/** @param scope the claim: a string (RFC 9068), or a list, as in tokens issued by an older process */
export function scopesIn(scope: unknown): readonly unknown[] {
  if (typeof scope === 'string') return scope.split(' ').filter((name) => name !== '');
  return Array.isArray(scope) ? scope : [];
}

function refuse(why: string): never {
  throw new AccessTokenRefused(why);
}
