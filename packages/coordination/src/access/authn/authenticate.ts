import type { Db } from '@baton/kernel/database/db';
import type { RequestHead } from '@baton/kernel/http/http-message';
import type { Operation } from '@baton/kernel/http/service';
import { type CredentialReads, limitCredentialReads } from '@baton/kernel/limits/concurrency-limit';
import type { Logger } from '@baton/kernel/process/log';
import { type Caller, nobody } from '../../service/caller.ts';
import { narrowByScopes } from '../../service/permissions.ts';
import { type Bindings, createBindings } from '../access-tokens/bindings.ts';
import type { EntryRow } from '../access-tokens/entry.ts';
import { createJwks, KeysUnavailableError } from '../access-tokens/jwks.ts';
import {
  createRevocations,
  type Revocations,
  type RevocationsOptions,
  RevocationsUnavailableError,
  revocableByOf,
  revocationHash,
  revocationsUrlOf,
} from '../access-tokens/revocations.ts';
import {
  type AdmissionClaims,
  createTokens,
  type TokenClaims,
  TokenRefused,
  type Tokens,
} from '../access-tokens/tokens.ts';
import { fail } from '../errors.ts';
import { UndecidedRights } from '../policy/rights.ts';
import type { Settings } from '../settings.ts';
import { bearerOf, equalSecrets, mayReadMetrics } from './bearer.ts';
import { decidesOnly, refuseOutsidePurpose, rightsToDecide } from './decide-only.ts';
import { admitKey, KeyRefused } from './keys.ts';
import { createRateLimit } from './rate-limit.ts';

/** Authenticates callers. See docs/reference/access.md#credentials. */
export interface Authenticator {
  /**
   * @throws Refusal 401 `invalid_credentials` with the same response for every reason, 403 `principal_not_active`, 403
   * `scope_not_granted`, `purpose_ref_required`, `outside_purpose`, `bootstrap_disabled`, 429 `rate_limited`, 503
   * `verification_unavailable`
   */
  authenticate(
    head: Pick<RequestHead, 'headers' | 'path' | 'correlationId'>,
    endpoint: Operation,
  ): Promise<Caller>;
  /**
   * Authenticates by the credential alone.
   * @param isRequest whether the rate limit counts it: a new stream counts, a stream's recheck doesn't
   */
  enter(credential: string, isRequest?: boolean): Promise<Caller>;
  /**
   * Verifies a statement that an identity provider admits a person.
   * @throws Refusal 401 `invalid_credentials`, 503 `verification_unavailable`
   */
  verifyAdmission(statement: string): Promise<AdmissionClaims>;
  /** Drops an identity from the cache after its binding or principal has changed. */
  forget(issuer: string, iamPrincipalId: string): void;
  /** Empties the cache, because notifications of changes may have been lost. */
  forgetAll(): void;
  /** Applies a revocation that identity has just made in the same process. */
  refreshRevocations(): Promise<void>;
  close(): Promise<void>;
}

export function createAuthenticator(
  db: Db,
  settings: Settings,
  log: Logger,
  connectionsMax: number,
  onRevocation: RevocationsOptions['onRevocation'] = () => undefined,
): Authenticator {
  // Anyone can invent a key, so reads are bounded; a token is verified before its binding is read.
  const keyReads = limitCredentialReads(connectionsMax);
  const bindings = createBindings(db, limitCredentialReads(connectionsMax), {
    ttlMs: settings.CP_IAM_BINDING_CACHE_TTL_SECONDS * 1000,
    staleAfterMs: settings.CP_IAM_BINDING_STALE_AFTER_SECONDS * 1000,
  });
  const tokens = settings.CP_IAM_ISSUER === '' ? undefined : createTokens(keysOf(settings, log), settings);
  const revocations = tokens && openRevocations(settings, log, onRevocation);
  const rateLimit = createRateLimit(settings);
  if (tokens !== undefined && /^(false|0|no|off)$/i.test(settings.CP_IAM_ENABLED.trim()))
    log.warn('CP_IAM_ENABLED is false and is ignored: CP_IAM_ISSUER and CP_IAM_JWKS_URL are set');

  async function find(credential: string): Promise<Caller> {
    // The form alone determines the kind of the credential.
    if (credential.startsWith('cp_')) return enterWithKey(keyReads, db, settings, credential);
    if (/^[^.\s]+\.[^.\s]+\.[^.\s]+$/.test(credential))
      return enterWithToken({ tokens, revocations, bindings }, settings, credential);
    return refuse('unknown_form');
  }

  async function enter(credential: string, isRequest = false): Promise<Caller> {
    const caller = await find(credential);
    if (isRequest) rateLimit.take(caller);
    return caller;
  }

  return {
    enter,
    async authenticate(head, endpoint) {
      if (endpoint.auth === 'none') return nobody;
      const credential = bearerOf(head.headers.authorization);
      if (endpoint.auth === 'metrics') {
        if (mayReadMetrics(settings, head.headers.authorization)) return nobody;
        return refuse('metrics_token');
      }
      if (endpoint.auth === 'bootstrap') return enterWithBootstrapSecret(settings, credential);
      if (credential === undefined) return refuse('credential_missing');
      const caller = await enter(credential, true);
      refuseOutsidePurpose(caller, head.path, endpoint);
      return caller;
    },
    async verifyAdmission(statement) {
      if (tokens === undefined) return refuse('identity_not_configured');
      const claims = await tokens.verifyAdmission(statement).catch(refuseToken);
      // The same claim as in the access tokens of the sign-in, so that disabling the provider revokes the statement.
      const asToken = { ...claims, clientId: `idp:${claims.identityProvider}` };
      if (revocations !== undefined && (await isRevoked(revocations, asToken)))
        return refuse('token_revoked');
      return claims;
    },
    forget: bindings.forget,
    forgetAll: bindings.forgetAll,
    refreshRevocations: async () => revocations?.refresh(),
    close: async () => revocations?.close(),
  };
}

/** @returns undefined if the address of the list isn't known */
export function openRevocations(
  settings: Settings,
  log: Logger,
  onRevocation: RevocationsOptions['onRevocation'] = () => undefined,
): Revocations | undefined {
  const url = revocationsUrlOf(settings);
  if (url === undefined) {
    log.warn(
      'CP_IAM_REVOCATIONS_URL is not set: the access tokens of a disabled principal are accepted until they expire',
    );
    return undefined;
  }
  return createRevocations({
    url,
    intervalMs: settings.CP_IAM_REVOCATIONS_INTERVAL_SECONDS * 1000,
    staleAfterMs: settings.CP_IAM_REVOCATIONS_STALE_AFTER_SECONDS * 1000,
    requestTimeoutMs: settings.CP_IAM_REQUEST_TIMEOUT_SECONDS * 1000,
    log,
    onRevocation,
  });
}

function keysOf(settings: Settings, log: Logger) {
  return createJwks({
    url: settings.CP_IAM_JWKS_URL,
    refreshAfterMs: settings.CP_IAM_JWKS_REFRESH_AFTER_SECONDS * 1000,
    staleAfterMs: settings.CP_IAM_JWKS_STALE_AFTER_SECONDS * 1000,
    minRefreshIntervalMs: settings.CP_IAM_JWKS_MIN_REFRESH_INTERVAL_SECONDS * 1000,
    requestTimeoutMs: settings.CP_IAM_REQUEST_TIMEOUT_SECONDS * 1000,
    algorithms: settings.CP_IAM_ALGORITHMS,
    log,
  });
}

function enterWithBootstrapSecret(settings: Settings, credential: string | undefined): Caller {
  const secret = settings.CP_BOOTSTRAP_TOKEN;
  if (secret === undefined) return fail('bootstrap_disabled');
  if (credential === undefined || !equalSecrets(credential, secret)) return refuse('bootstrap_secret');
  return nobody;
}

interface TokenChecks {
  readonly tokens: Tokens | undefined;
  readonly revocations: Revocations | undefined;
  readonly bindings: Bindings;
}

async function enterWithToken(
  { tokens, revocations, bindings }: TokenChecks,
  { CP_AUTHZ_MODE: mode }: Settings,
  token: string,
): Promise<Caller> {
  if (tokens === undefined) return refuse('identity_not_configured');
  const claims = await tokens.verify(token).catch(refuseToken);
  if (revocations !== undefined && (await isRevoked(revocations, claims))) return refuse('token_revoked');
  const entry = await bindings.find(claims.issuer, claims.iamPrincipalId);
  if (entry === undefined) return refuse('binding_not_found');
  if (entry.binding_status !== 'active') return refuse(`binding_${entry.binding_status}`);
  if (entry.iam_tenant_id !== claims.iamTenantId) return refuse('tenant_mismatch');
  if (entry.principal_status !== 'active') return fail('principal_not_active');
  return callerOf(entry, claims, mode === 'policy');
}

function isRevoked(revocations: Revocations, claims: TokenClaims): Promise<boolean> | boolean {
  const first = revocations.ready();
  return first === undefined
    ? coveredBy(revocations, claims)
    : first.then(() => coveredBy(revocations, claims));
}

function coveredBy(revocations: Revocations, claims: TokenClaims): boolean {
  try {
    return revocations.covers(claims);
  } catch (error) {
    return refuseToken(error);
  }
}

function refuseToken(error: unknown): never {
  if (error instanceof KeysUnavailableError || error instanceof RevocationsUnavailableError)
    fail('verification_unavailable', {}, { headers: { 'retry-after': '5' } });
  if (error instanceof TokenRefused) return refuse(`token_${error.message}`);
  throw error;
}

const callers = new WeakMap<EntryRow, WeakMap<TokenClaims, Caller>>();

/**
 * Entry and claims come from caches as identical objects, so the caller of a frequently used token is created once.
 * @param isJudged whether its permissions need a decision on each request
 */
function callerOf(entry: EntryRow, claims: TokenClaims, isJudged: boolean): Caller {
  const ofEntry = callers.get(entry) ?? new WeakMap<TokenClaims, Caller>();
  callers.set(entry, ofEntry);
  const known = ofEntry.get(claims);
  if (known !== undefined) return known;
  const rights = decidesOnly(claims) ? rightsToDecide(entry, claims) : rightsOf(entry, claims);
  const caller: Caller = {
    tenantId: entry.tenant_id,
    principalId: entry.principal_id,
    kind: entry.kind,
    iamPrincipalId: claims.iamPrincipalId,
    scopes: claims.scopes,
    credentialId: entry.binding_id,
    revocableBy: [...revocableByOf(claims), revocationHash(entry.binding_id)],
    agentId: entry.agent_id,
    ...signInOf(claims),
    ...rights,
    ...(isJudged && { permissions: new UndecidedRights(rights.permissions) }),
  };
  ofEntry.set(claims, caller);
  return caller;
}

function signInOf({ iamTenantId, credentialId, authTimeMs }: TokenClaims): Pick<Caller, 'signIn'> {
  if (credentialId === undefined || authTimeMs === undefined) return {};
  return { signIn: { iamTenantId, credentialId, atMs: authTimeMs } };
}

function rightsOf({ permissions: held }: EntryRow, { scopes }: TokenClaims): Pick<Caller, 'permissions'> {
  return { permissions: narrowByScopes(held, scopes) ?? fail('scope_not_granted') };
}

async function enterWithKey(
  reads: CredentialReads,
  db: Db,
  settings: Settings,
  key: string,
): Promise<Caller> {
  const entry = await admitKey(reads, db, settings, key).catch((error: unknown) => {
    if (error instanceof KeyRefused) return refuse(error.message);
    throw error;
  });
  if (entry.principal_status !== 'active') return fail('principal_not_active');
  return {
    tenantId: entry.tenant_id,
    principalId: entry.principal_id,
    kind: entry.kind,
    iamPrincipalId: null,
    permissions: new Set(entry.permissions),
    credentialId: entry.id,
    revocableBy: [revocationHash(entry.id)],
    agentId: entry.agent_id,
  };
}

/** The response is the same for every reason; only the log has the reason. */
function refuse(reason: string): never {
  fail('invalid_credentials', {}, { reason, headers: { 'www-authenticate': 'Bearer' } });
}
