import { randomBytes, randomUUID } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Db } from '@baton/kernel/database/db';
import { Refusal } from '@baton/kernel/http/refusal';
import type { SignInSnapshot } from '../../credentials/platform-access-tokens/platform-access-token.ts';
import {
  payloadOf,
  platformAccessTokenIssued,
} from '../../credentials/platform-access-tokens/platform-access-tokens.events.ts';
import {
  addCredential,
  requireSignIn,
} from '../../credentials/platform-access-tokens/platform-access-tokens.ts';
import { revokeToken } from '../../directory/revocation/revocation.ts';
import { exchangeGrant } from '../../issuing/exchange/exchanges.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  findAudienceScopes,
  findConnectableAgents,
  findLiveGrant,
  findSurplusGrants,
  insertGrant,
  shareConnector,
} from './oauth-grants.sql.ts';
import type { MintedToken } from './provider/provider-state.ts';

export const agentsShownMax = 100;
const nameLengthMax = 200;

/** What a person has decided to grant. */
export interface GrantDecision {
  /** The id of the request, which can be granted only once. */
  readonly uid: string;
  readonly tenantId: string;
  readonly personId: string;
  /** The person, or an agent that they may connect. */
  readonly principalId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

/**
 * Creates the credential of a grant, in the transaction of the caller (see docs/reference/oauth.md#grants).
 * @returns its id
 * @throws Refusal `invalid_token`, `agent_not_connectable`, `audience_not_allowed`,
 * `authentication_context_expired`, `invalid_authorization_request` for a second decision about one request
 */
export async function createGrant(context: Context, decision: GrantDecision): Promise<string> {
  const { db, settings } = context;
  const { tenantId, personId, principalId, clientId, resource, scopes } = decision;
  const person = await signInOf(context, tenantId, personId, 'invalid_token');
  if (principalId !== personId && !(await db.row(shareConnector(tenantId, personId, principalId))))
    fail('agent_not_connectable');
  const snapshot =
    principalId === personId
      ? person
      : await signInOf(context, tenantId, principalId, 'agent_not_connectable');
  const audience = audienceOf(context, resource);
  const made = await addCredential(db, {
    id: randomUUID(),
    tenantId,
    principalId,
    kind: 'oauth_grant',
    name: [...decision.clientName].slice(0, nameLengthMax).join(''),
    // It has no secret: nobody can present it.
    publicPrefix: randomBytes(6).toString('hex'),
    secretHash: secretHash(randomBytes(32).toString('base64url')),
    audiences: [audience],
    scopeCeiling: sortedSet(scopes),
    snapshot,
    ttlSeconds: settings.IAM_OAUTH_GRANT_SECONDS,
    expiresAt: null,
    rotatedFromId: null,
    idempotencyKey: `oauth:${decision.uid}`,
    fingerprint: decision.uid,
  });
  if (made === undefined)
    return fail('invalid_authorization_request', {}, { reason: 'the request was decided before' });
  await db.run(insertGrant({ credentialId: made.id, tenantId, grantedBy: personId, clientId, resource }));
  emit(context, platformAccessTokenIssued, { tenantId, aggregateId: made.id }, payloadOf(made));
  audit(context, {
    tenantId,
    action: 'platform_access_tokens.issue',
    resource: ['platform_access_token', made.id],
    reason: `oauth:${made.public_prefix} principal:${principalId} client:${clientId.slice(0, 200)}`,
    actor: personId,
  });
  await endSurplus(context, tenantId, personId);
  return made.id;
}

/**
 * Locks the principal. A principal that was disabled after the decision is refused like one that was disabled before.
 */
async function signInOf(
  context: Context,
  tenantId: string,
  principalId: string,
  refused: 'invalid_token' | 'agent_not_connectable',
): Promise<SignInSnapshot> {
  try {
    return await requireSignIn(context, tenantId, principalId);
  } catch (error) {
    if (error instanceof Refusal && /^principal_not_(active|found)$/.test(error.code)) fail(refused);
    throw error;
  }
}

/** If a person has more grants than allowed, those that have been unused the longest end. */
async function endSurplus(context: Context, tenantId: string, personId: string): Promise<void> {
  const keptMax = context.settings.IAM_OAUTH_GRANTS_PER_PERSON_MAX;
  for (const { credential_id: credentialId } of await context.db.rows(
    findSurplusGrants(tenantId, personId, keptMax),
  ))
    await revokeToken(context, { tenantId, credentialId, reason: 'replaced', actor: personId });
}

/** @throws Refusal `agent_not_connectable` */
export async function requireConnectable(
  db: Db,
  tenantId: string,
  personId: string,
  agentId: string,
): Promise<void> {
  const agents = await db.rows(findConnectableAgents(tenantId, personId, agentsShownMax));
  if (!agents.some(({ id }) => id === agentId)) fail('agent_not_connectable');
}

/** The audience of a resource; the settings map the addresses of services to audiences. */
export function audienceOf({ settings }: Pick<Context, 'settings'>, resource: string): string {
  return settings.resources.get(resource) ?? fail('audience_not_allowed');
}

/**
 * The requested scopes that a tenant can grant to a client: never privileged ones.
 * @throws Refusal `audience_not_allowed` if none remains
 */
export async function grantableScopes(
  { db, settings }: Context,
  tenantId: string,
  audience: string,
  requested: readonly string[],
): Promise<string[]> {
  const found = await db.row(findAudienceScopes(tenantId, audience));
  const allowed = (found?.allowed_scopes ?? []).filter(
    (scope) => isScope(scope) && !settings.privilegedScopes.has(scope),
  );
  const scopes = sortedSet(requested.filter((scope) => allowed.includes(scope)));
  return scopes.length === 0 ? fail('audience_not_allowed', {}, { reason: 'no grantable scope' }) : scopes;
}

/** The grant in the form that the provider library reads; undefined once its tokens are no longer accepted. */
export async function grantPayloadOf(db: Db, credentialId: string): Promise<AdapterPayload | undefined> {
  const row = await db.row(findLiveGrant(credentialId));
  if (row === undefined) return undefined;
  return {
    kind: 'Grant',
    jti: row.credential_id,
    // Every grant is a separate account, because the library shows no account to anybody.
    accountId: row.credential_id,
    clientId: row.client_id,
    iat: row.created_seconds,
    exp: row.expires_seconds,
    resources: { [row.resource]: row.scope_ceiling.join(' ') },
  };
}

/**
 * Signs an access token of a grant: one of Baton's own, as for any other credential.
 * @param found the payload of a code or a refresh token
 * @throws Refusal `invalid_grant`, `audience_not_allowed`, `scope_not_allowed`, `unavailable`
 */
export async function exchangeLiveGrant(
  context: Context,
  found: Readonly<Record<string, unknown>>,
  scopes: readonly string[] | undefined,
): Promise<MintedToken> {
  const row = await context.pool.row(findLiveGrant(String(found['grantId'])));
  if (row === undefined) return fail('invalid_grant', {}, { reason: 'the grant has ended' });
  const audience = audienceOf(context, row.resource);
  return exchangeGrant(context, { publicPrefix: row.public_prefix, audience, scopes: scopes ?? [] });
}

/** Revokes a grant and thereby its access tokens; repeating it changes nothing. */
export async function revokeGrant(context: Context, credentialId: string, reason: string): Promise<void> {
  const row = await context.pool.row(findLiveGrant(credentialId));
  if (row === undefined) return;
  await recordedTransaction(context, (inside) =>
    revokeToken(inside, { tenantId: row.tenant_id, credentialId, reason }),
  );
}
