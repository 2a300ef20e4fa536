import { hash } from 'node:crypto';
import { compactVerify, decodeProtectedHeader, errors as joseErrors } from 'jose';
import type { Settings } from '../settings.ts';
import type { Jwks, SigningKey } from './jwks.ts';

/** The claims of an access token that coordination uses. */
export interface TokenClaims {
  readonly issuer: string;
  readonly iamPrincipalId: string;
  readonly iamTenantId: string;
  readonly scopes: ReadonlySet<string>;
  /** The purpose of the token (`purpose_ref`), if it has one. */
  readonly purposeRef: string | undefined;
  /** The person's authentication method (`acr`), if the token has that claim. */
  readonly acr: string | undefined;
  /** When the person signed in (`auth_time`), in milliseconds since 1970, if the token states it. */
  readonly authTimeMs: number | undefined;
  /** The credential that was exchanged for it (`credential_id`), if the token has that claim. */
  readonly credentialId: string | undefined;
  /**
   * The client that obtained it (`client_id`): for a person who signed in, `idp:` and the identity provider's key.
   */
  readonly clientId: string | undefined;
  readonly issuedAtSeconds: number;
  /** Its expiry, including the leeway. */
  readonly expiresAtMs: number;
}

/** The reason for rejecting a token: for the audit log, never for the response. */
export class TokenRefused extends Error {}

export interface Tokens {
  /** @throws TokenRefused, KeysUnavailableError */
  verify(token: string): Promise<TokenClaims>;
  /** @throws TokenRefused, KeysUnavailableError */
  verifyAdmission(statement: string): Promise<AdmissionClaims>;
}

/** A statement from identity that an identity provider admits a person who has no binding yet. */
export interface AdmissionClaims extends TokenClaims {
  readonly identityProvider: string;
  readonly accessRole: string;
  readonly displayName: string;
  /** Present only if the provider has verified the address. */
  readonly email: string | null;
}

/** Lower than Node's limit for all headers together, so that this limit applies first. */
const tokenLengthMax = 12_288;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const tokenTypes: readonly string[] = ['at+jwt', 'jwt', 'application/at+jwt'];
/** Neither kind is accepted in place of the other. */
const admissionTypes: readonly string[] = ['admission+jwt'];

/**
 * How long a verified token is cached by its hash, so that a busy agent's signature isn't verified on each request.
 */
const rememberedMs = 30_000;
const rememberedMax = 10_000;

interface Remembered {
  readonly claims: TokenClaims;
  readonly untilMs: number;
  readonly keyId: string;
  readonly key: SigningKey;
}

/** Verifies signature, issuer, audience and time, in this order. See docs/reference/access.md#access-tokens. */
export function createTokens(jwks: Jwks, settings: Settings): Tokens {
  const remembered = new Map<string, Remembered>();
  const accepted = settings.CP_IAM_ALGORITHMS;

  return {
    async verify(token) {
      if (token.length > tokenLengthMax) throw new TokenRefused('too_long');
      const digest = hash('sha256', token, 'base64url');
      const known = remembered.get(digest);
      // Keys are checked as they are for a new token: if the key was withdrawn, the token is verified again; if the
      // keys are outdated, it is refused.
      const isKnown = known !== undefined && (await jwks.find(known.keyId)) === known.key;
      if (isKnown && known.untilMs > Date.now()) return known.claims;
      const { keyId, key, payload } = await verifiedPayload(token, tokenTypes);
      const claims = claimsOf(payload, settings);
      remembered.delete(digest);
      if (remembered.size >= rememberedMax) remembered.delete(remembered.keys().next().value as string);
      const untilMs = Math.min(Date.now() + rememberedMs, claims.expiresAtMs);
      remembered.set(digest, { claims, untilMs, keyId, key });
      return claims;
    },
    async verifyAdmission(statement) {
      if (statement.length > tokenLengthMax) throw new TokenRefused('too_long');
      const { payload } = await verifiedPayload(statement, admissionTypes);
      return { ...claimsOf(payload, settings), ...admissionIn(payload) };
    },
  };

  async function verifiedPayload(token: string, types: readonly string[]) {
    const { keyId, algorithm } = headerOf(token, accepted, types);
    const key = await jwks.find(keyId);
    if (key === undefined) throw new TokenRefused('unknown_key');
    if (!key.algorithms.includes(algorithm)) throw new TokenRefused('algorithm');
    return { keyId, key, payload: await payloadOf(token, key, algorithm) };
  }
}

function admissionIn(payload: Record<string, unknown>): Omit<AdmissionClaims, keyof TokenClaims> {
  const { identity_provider: identityProvider, access_role: accessRole, name, email } = payload;
  if (typeof identityProvider !== 'string' || typeof accessRole !== 'string' || typeof name !== 'string')
    throw new TokenRefused('admission');
  return { identityProvider, accessRole, displayName: name, email: typeof email === 'string' ? email : null };
}

/**
 * Validates the header. Only published keys are used, whatever `jku`, `jwk` or `x5c` contain; a header that requires an
 * extension (`crit`), such as an unencoded payload, is rejected.
 */
function headerOf(
  token: string,
  accepted: readonly string[],
  types: readonly string[],
): { keyId: string; algorithm: string } {
  try {
    const { kid, alg, typ, crit } = decodeProtectedHeader(token);
    const isOfType = typ === undefined ? types === tokenTypes : types.includes(typ.toLowerCase());
    const isPlain = crit === undefined && typeof kid === 'string' && accepted.includes(alg ?? '');
    if (isOfType && isPlain) return { keyId: kid, algorithm: alg as string };
  } catch {
    // An unreadable header is rejected like any other invalid header.
  }
  throw new TokenRefused('header');
}

async function payloadOf(
  token: string,
  { key }: SigningKey,
  algorithm: string,
): Promise<Record<string, unknown>> {
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [algorithm] });
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (typeof claims === 'object' && claims !== null) return claims as Record<string, unknown>;
  } catch (error) {
    if (error instanceof joseErrors.JOSEError || error instanceof SyntaxError || error instanceof TypeError)
      throw new TokenRefused('signature', { cause: error });
    throw error;
  }
  throw new TokenRefused('payload');
}

function claimsOf(payload: Record<string, unknown>, settings: Settings): TokenClaims {
  const {
    iss,
    aud,
    sub,
    iat,
    nbf,
    exp,
    jti,
    tenant_id: tenantId,
    scope,
    purpose_ref: purposeRef,
    acr,
    auth_time: authTime,
    credential_id: credentialId,
    client_id: clientId,
  } = payload;
  if (iss !== settings.CP_IAM_ISSUER) throw new TokenRefused('issuer');
  const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  if (audience !== settings.CP_IAM_AUDIENCE) throw new TokenRefused('audience');
  const nowSeconds = Date.now() / 1000;
  const leewaySeconds = settings.CP_IAM_LEEWAY_SECONDS;
  if (![iat, nbf, exp].every((time) => typeof time === 'number' && Number.isFinite(time)))
    throw new TokenRefused('times_missing');
  if ((exp as number) + leewaySeconds <= nowSeconds) throw new TokenRefused('expired');
  if ((nbf as number) - leewaySeconds > nowSeconds || (iat as number) - leewaySeconds > nowSeconds)
    throw new TokenRefused('not_yet_valid');
  if (typeof jti !== 'string' || typeof sub !== 'string' || !uuidForm.test(sub))
    throw new TokenRefused('subject');
  if (typeof tenantId !== 'string' || !uuidForm.test(tenantId)) throw new TokenRefused('tenant');
  return {
    issuer: iss,
    iamPrincipalId: sub,
    iamTenantId: tenantId,
    scopes: scopesOf(scope),
    purposeRef: typeof purposeRef === 'string' ? purposeRef : undefined,
    acr: typeof acr === 'string' ? acr : undefined,
    authTimeMs: instantIn(authTime),
    credentialId: typeof credentialId === 'string' ? credentialId : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    issuedAtSeconds: iat as number,
    expiresAtMs: ((exp as number) + leewaySeconds) * 1000,
  };
}

/** Identity states the time as a string; other issuers state it in seconds, as OpenID Connect does. */
function instantIn(time: unknown): number | undefined {
  const ms =
    typeof time === 'string' ? Date.parse(time) : typeof time === 'number' ? time * 1000 : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

function scopesOf(scope: unknown): ReadonlySet<string> {
  if (typeof scope === 'string') return new Set(scope.split(' ').filter(Boolean));
  return new Set(Array.isArray(scope) ? scope.filter((name) => typeof name === 'string') : []);
}
