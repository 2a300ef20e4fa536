import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import { fingerprintOf } from '@baton/kernel/idempotency';
import type { Reply } from '@baton/kernel/service';
import { allowedScopesOf, refuseWiderCeiling } from '../../directory/audiences/audiences.ts';
import { audit } from '../../records/audit.ts';
import { requireFreshContext } from '../../directory/authentication-contexts/authentication-contexts.ts';
import type { Settings } from '../settings.ts';
import type { Context } from '../context.ts';
import { emit } from '../../records/journal/journal.ts';
import { holdPrincipal } from '../../directory/principals/principals.ts';
import { makePlatformAccessToken } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { refuseClosedTenant } from '../../directory/tenants/tenants.ts';
import { type Credential, credentialPayload, credentialView } from './credential-view.ts';
import { type Issuance, replayOf, requireIssuanceKey } from './issuance-key.ts';
import type { IssueRequest } from './platform-access-tokens.api.ts';
import { platformAccessTokenIssued } from './platform-access-tokens.events.ts';
import {
  type CredentialFilter,
  type CredentialRow,
  findCredential,
  findCredentials,
  findOwner,
  insertCredential,
  type NewCredential,
  type SignInSnapshot,
} from './platform-access-tokens.sql.ts';

/**
 * Issues a token (contract, section 7). The checks run in the order of the endpoint's `errors`.
 * @returns the credential and its secret; for a key that was used, the credential as it is now and null
 */
export async function issueToken(
  context: Context,
  tenantId: string,
  principalId: string,
  wanted: IssueRequest,
): Promise<Issuance | Reply<Issuance>> {
  const { db, settings } = context;
  const idempotencyKey = requireIssuanceKey(context);
  // A null lifetime is an absent one.
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
  // A rival with the same key was first: its answer is ours. Any other clash is solved by a new try.
  if (made === undefined)
    return (await replayOf(db, tenantId, idempotencyKey, fingerprint)) ?? fail('credential_conflict');
  recordIssue(context, made);
  return { credential: credentialView(made), token };
}

/** Writes a token; undefined when its prefix, hash or key is taken. */
export function addCredential(db: Db, made: NewCredential): Promise<CredentialRow | undefined> {
  return db.row(insertCredential(made));
}

export function listTokens(db: Db, filter: CredentialFilter): Promise<CredentialRow[]> {
  return db.rows(findCredentials(filter));
}

/** @throws Refusal `credential_not_found` */
export async function readToken(db: Db, tenantId: string, credentialId: string): Promise<Credential> {
  return credentialView(
    (await db.row(findCredential(tenantId, credentialId))) ?? fail('credential_not_found'),
  );
}

export async function credentialExists(db: Db, tenantId: string, credentialId: string): Promise<boolean> {
  return (await db.row(findOwner(tenantId, credentialId))) !== undefined;
}

/** Who may get a token, and for a human the sign-in that it will rest on. */
async function requireSignIn(
  { db, settings }: Context,
  tenantId: string,
  principalId: string,
): Promise<SignInSnapshot> {
  const principal = await holdPrincipal(db, tenantId, principalId);
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

function lifetimeOf({ expiresInSeconds }: IssueRequest, settings: Settings): number {
  const ttlSecondsMax = settings.IAM_PAT_MAX_TTL_SECONDS;
  const ttlSeconds = expiresInSeconds ?? Math.min(settings.IAM_PAT_DEFAULT_TTL_SECONDS, ttlSecondsMax);
  if (ttlSeconds > ttlSecondsMax) fail('expiry_too_long');
  return ttlSeconds;
}

function recordIssue(context: Context, made: CredentialRow): void {
  const { id, tenant_id: tenantId } = made;
  emit(context, platformAccessTokenIssued, { tenantId, aggregateId: id }, credentialPayload(made));
  audit(context, {
    tenantId,
    action: 'platform_access_tokens.issue',
    resource: ['platform_access_token', id],
    reason: `pat:${made.public_prefix} principal:${made.principal_id}`,
  });
}
