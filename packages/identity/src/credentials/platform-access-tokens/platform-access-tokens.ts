import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { fingerprintOf } from '@baton/kernel/http/idempotency';
import { type Reply, reply } from '@baton/kernel/http/service';
import { allowedScopesOf, refuseWiderCeiling } from '../../directory/audiences/audiences.ts';
import { requireFreshContext } from '../../directory/authentication-contexts/authentication-contexts.ts';
import { getLockedPrincipal } from '../../directory/principals/principals.ts';
import { type RevocationOrder, revokeToken } from '../../directory/revocation/revocation.ts';
import { refuseClosedTenant } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { cutPage } from '../../service/pages.ts';
import { makePlatformAccessToken } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import { replayOf, requireIssuanceKey } from './issuance-key.ts';
import {
  type IssuedToken,
  type ListQuery,
  listName,
  type NewPlatformAccessToken,
  type PlatformAccessToken,
  type PlatformAccessTokenRow,
  platformAccessTokenOf,
  type SignInSnapshot,
} from './platform-access-token.ts';
import { payloadOf, platformAccessTokenIssued } from './platform-access-tokens.events.ts';
import {
  findCredential,
  findCredentials,
  findOwner,
  insertCredential,
  type NewCredential,
} from './platform-access-tokens.sql.ts';

/**
 * Issues a token (see docs/reference/credentials.md#issue-a-token). The checks run in the order of the endpoint's
 * `errors`.
 * @returns the credential and its secret; for a key that was already used, the current credential and null
 */
export async function createPlatformAccessToken(
  context: Context,
  tenantId: string,
  principalId: string,
  wanted: NewPlatformAccessToken,
): Promise<IssuedToken | Reply<IssuedToken>> {
  const { db, settings } = context;
  const idempotencyKey = requireIssuanceKey(context);
  // Null means the same as an absent field.
  const { expiresInSeconds, ...others } = wanted;
  const asked = expiresInSeconds == null ? others : wanted;
  const fingerprint = fingerprintOf('POST', 'issue', asked, principalId);
  const replay = await replayOf(db, tenantId, idempotencyKey, fingerprint);
  if (replay !== undefined) return replay;

  await refuseClosedTenant(db, tenantId);
  const snapshot = await requireSignIn(context, tenantId, principalId);
  const { name, audiences, scopeCeiling } = wanted;
  refuseWiderCeiling(scopeCeiling, await allowedScopesOf(db, tenantId, audiences));
  const ttlSeconds = lifetimeOf(wanted, settings);

  const { token, ...secret } = makePlatformAccessToken();
  const made = await addCredential(db, {
    id: randomUUID(),
    tenantId,
    principalId,
    kind: 'platform_access_token',
    name,
    ...secret,
    audiences,
    scopeCeiling,
    snapshot,
    ttlSeconds,
    expiresAt: null,
    rotatedFromId: null,
    idempotencyKey,
    fingerprint,
  });
  // If another request with the same key came first, its response is replayed. Any other conflict is resolved by a
  // retry.
  if (made === undefined)
    return (await replayOf(db, tenantId, idempotencyKey, fingerprint)) ?? fail('credential_conflict');
  recordIssue(context, made);
  return { credential: platformAccessTokenOf(made), token };
}

/** Inserts a token; undefined when its prefix, hash or Idempotency-Key is taken. */
export function addCredential(db: Db, made: NewCredential): Promise<PlatformAccessTokenRow | undefined> {
  return db.row(insertCredential(made));
}

/** All tokens of a tenant by creation or, with `limit`, one page with a `Link` to the next one. */
export async function listPlatformAccessTokens(
  db: Db,
  tenantId: string,
  { limit, after, principalId, includeRevoked }: ListQuery,
): Promise<PlatformAccessToken[] | Reply<PlatformAccessToken[]>> {
  const rowsMax = limit === undefined ? undefined : limit + 1;
  const found = await db.rows(findCredentials({ tenantId, principalId, includeRevoked, after, rowsMax }));
  const { rows, next_after: next } = cutPage(listName, found, limit ?? found.length);
  const tokens = rows.map(platformAccessTokenOf);
  if (next === null) return tokens;
  return reply(200, tokens, { link: linkToNext({ principalId, includeRevoked, limit, after: next }) });
}

/** @throws Refusal `credential_not_found` */
export async function getPlatformAccessToken(
  db: Db,
  tenantId: string,
  credentialId: string,
): Promise<PlatformAccessToken> {
  return platformAccessTokenOf(
    (await db.row(findCredential(tenantId, credentialId))) ?? fail('credential_not_found'),
  );
}

/**
 * Revokes a token; an already revoked token keeps its first reason.
 * @throws Refusal `credential_not_found`
 */
export async function revokePlatformAccessToken(
  context: Context,
  order: RevocationOrder,
): Promise<undefined> {
  if (await revokeToken(context, order)) return;
  const isKnown = (await context.db.row(findOwner(order.tenantId, order.credentialId))) !== undefined;
  if (!isKnown) fail('credential_not_found');
}

/**
 * Checks that the principal may get a token, and returns the sign-in on which the token is based. Locks the principal.
 * @throws Refusal `principal_not_found`, `principal_not_active`, `principal_kind_not_allowed`,
 * `authentication_context_required`, `authentication_context_expired`
 */
export async function requireSignIn(
  { db, settings }: Context,
  tenantId: string,
  principalId: string,
): Promise<SignInSnapshot> {
  const principal = await getLockedPrincipal(db, tenantId, principalId);
  if (principal.status !== 'active') fail('principal_not_active');
  if (principal.kind === 'agent') return { origin: 'agent', ...noSignIn };
  if (principal.kind !== 'human') fail('principal_kind_not_allowed');
  const ageSecondsMax = settings.IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS;
  const signIn = await requireFreshContext(db, { tenantId, principalId }, ageSecondsMax);
  return {
    origin: 'sign_in',
    authentication_context_id: signIn.id,
    auth_issuer: signIn.issuer,
    acr: signIn.acr,
    amr: signIn.amr,
    auth_time: signIn.auth_time,
  };
}

export const noSignIn = {
  authentication_context_id: null,
  auth_issuer: null,
  acr: null,
  amr: null,
  auth_time: null,
} as const;

function lifetimeOf({ expiresInSeconds }: NewPlatformAccessToken, settings: Settings): number {
  const ttlSecondsMax = settings.IAM_PAT_MAX_TTL_SECONDS;
  const ttlSeconds = expiresInSeconds ?? Math.min(settings.IAM_PAT_DEFAULT_TTL_SECONDS, ttlSecondsMax);
  if (ttlSeconds > ttlSecondsMax) fail('expiry_too_long');
  return ttlSeconds;
}

function recordIssue(context: Context, made: PlatformAccessTokenRow): void {
  const { id, tenant_id: tenantId } = made;
  emit(context, platformAccessTokenIssued, { tenantId, aggregateId: id }, payloadOf(made));
  audit(context, {
    tenantId,
    action: 'platform_access_tokens.issue',
    resource: ['platform_access_token', id],
    reason: `pat:${made.public_prefix} principal:${made.principal_id}`,
  });
}

/** A relative link, because a proxy may have stripped the start of the path. */
function linkToNext(query: Record<string, unknown>): string {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) next.set(name, String(value));
  return `<?${next}>; rel="next"`;
}
