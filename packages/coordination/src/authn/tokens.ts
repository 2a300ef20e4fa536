import { hash } from 'node:crypto';
import { compactVerify, decodeProtectedHeader, errors as joseErrors } from 'jose';
import type { Settings } from '../config.ts';
import type { Jwks } from './jwks.ts';

/** What coordination uses of an access token. */
export interface TokenClaims {
  readonly issuer: string;
  readonly iamPrincipalId: string;
  readonly iamTenantId: string;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAtMs: number;
}

/** Why a token isn't admitted: for the audit log, never for the answer. */
export class TokenRefused extends Error {}

export interface Tokens {
  /** @throws TokenRefused, KeysUnavailableError */
  verify(token: string): Promise<TokenClaims>;
}

const tokenLengthMax = 16_384;
const algorithms = ['RS256', 'RS384', 'RS512'];
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A verified token is remembered by its hash for this long, so that a busy agent costs one signature check, not many. */
const rememberedMs = 30_000;
const rememberedMax = 10_000;

/** Checks in the order of core section 1.3: signature, issuer, audience, time; the binding comes after. */
export function createTokens(jwks: Jwks, settings: Settings): Tokens {
  const remembered = new Map<string, { claims: TokenClaims; until: number }>();

  return {
    async verify(token) {
      if (token.length > tokenLengthMax) throw new TokenRefused('token_too_long');
      const digest = hash('sha256', token, 'base64url');
      const known = remembered.get(digest);
      if (known !== undefined && known.until > Date.now()) return known.claims;
      const claims = await verifyToken(token);
      const until = Math.min(Date.now() + rememberedMs, claims.expiresAtMs);
      if (remembered.size >= rememberedMax) remembered.delete(remembered.keys().next().value as string);
      remembered.set(digest, { claims, until });
      return claims;
    },
  };

  async function verifyToken(token: string): Promise<TokenClaims> {
    const payload = await verifySignature(token);
    const { iss, aud, sub, iat, nbf, exp, jti, tenant_id: tenantId, scope } = payload;
    if (iss !== settings.CP_IAM_ISSUER) throw new TokenRefused('issuer');
    const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
    if (audience !== settings.CP_IAM_AUDIENCE) throw new TokenRefused('audience');
    const nowSeconds = Date.now() / 1000;
    const leeway = settings.CP_IAM_LEEWAY_SECONDS;
    if (![iat, nbf, exp].every((time) => typeof time === 'number' && Number.isFinite(time)))
      throw new TokenRefused('times_missing');
    if ((exp as number) + leeway <= nowSeconds) throw new TokenRefused('expired');
    if ((nbf as number) - leeway > nowSeconds || (iat as number) - leeway > nowSeconds)
      throw new TokenRefused('not_yet_valid');
    if (typeof jti !== 'string' || typeof sub !== 'string' || !uuidForm.test(sub))
      throw new TokenRefused('subject');
    if (typeof tenantId !== 'string' || !uuidForm.test(tenantId)) throw new TokenRefused('tenant');
    return {
      issuer: iss as string,
      iamPrincipalId: sub,
      iamTenantId: tenantId,
      scopes: scopesOf(scope),
      expiresAtMs: ((exp as number) + leeway) * 1000,
    };
  }

  async function verifySignature(token: string): Promise<Record<string, unknown>> {
    const keyId = keyIdOf(token);
    const key = await jwks.find(keyId);
    if (key === undefined) throw new TokenRefused('unknown_key');
    try {
      const { payload } = await compactVerify(token, key, { algorithms });
      const claims: unknown = JSON.parse(new TextDecoder().decode(payload));
      if (typeof claims !== 'object' || claims === null) throw new TokenRefused('payload');
      return claims as Record<string, unknown>;
    } catch (error) {
      if (error instanceof joseErrors.JOSEError || error instanceof SyntaxError || error instanceof TypeError)
        throw new TokenRefused('signature', { cause: error });
      throw error;
    }
  }
}

function keyIdOf(token: string): string {
  try {
    const { kid, alg, typ } = decodeProtectedHeader(token);
    const isAccessToken =
      typ === undefined || ['at+jwt', 'jwt', 'application/at+jwt'].includes(typ.toLowerCase());
    if (typeof kid === 'string' && algorithms.includes(alg ?? '') && isAccessToken) return kid;
  } catch {
    // A header that can't be read is refused like any other.
  }
  throw new TokenRefused('header');
}

function scopesOf(scope: unknown): ReadonlySet<string> {
  if (typeof scope === 'string') return new Set(scope.split(' ').filter(Boolean));
  return new Set(Array.isArray(scope) ? scope.filter((name) => typeof name === 'string') : []);
}
