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
import { lockMember } from '../../directory/principals/principals.ts';
import { revokeToken } from '../../directory/revocation/revocation.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import { secretHash } from '../../service/secrets.ts';
import { requireDecidingSession } from '../browser-sessions/deciding-session.ts';
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
  /** The session in which the person decided. */
  readonly sessionId: string;
}

/**
 * Creates the credential of a grant, in the transaction of the caller (see docs/reference/oauth.md#grants).
 * @returns its id
 * @throws Refusal `invalid_token`, `agent_not_connectable`, `audience_not_allowed`,
 * `authentication_context_expired`, `invalid_authorization_request` for a second decision about one request
 */
export async function createGrant(context: Context, decision: GrantDecision): Promise<string> {
  const { db, settings } = context;
  const { tenantId, personId, principalId, clientId, resource, scopes, sessionId } = decision;
  // Locked before the session, so that disabling the person waits for the grant, and then revokes it.
  if ((await lockMember(db, tenantId, personId)) === undefined) fail('invalid_token');
  const person = await requireDecidingSession(context, decision);
  if (principalId !== personId && !(await db.row(shareConnector(tenantId, personId, principalId))))
    fail('agent_not_connectable');
  const snapshot = principalId === personId ? person : await signInOfAgent(context, tenantId, principalId);
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
  await db.run(
    insertGrant({
      credentialId: made.id,
      tenantId,
      grantedBy: personId,
      clientId,
      resource,
      browserSessionId: sessionId,
    }),
  );
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

/** Locks the agent. An agent that was disabled after the decision is refused like one that was disabled before. */
async function signInOfAgent(context: Context, tenantId: string, agentId: string): Promise<SignInSnapshot> {
  try {
    return await requireSignIn(context, tenantId, agentId);
  } catch (error) {
    if (error instanceof Refusal && /^principal_not_(active|found)$/.test(error.code))
      fail('agent_not_connectable');
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

const serviceNames: Readonly<Record<string, string>> = {
  'control-plane': 'Baton (tasks and projects)',
  'memory-service': 'Memory service',
  'policy-service': 'Policy service',
  'entitlement-service': 'Entitlement service',
};

/** The display name of an audience. Audiences of other services have only a key, which is made readable. */
export function serviceName(audience: string): string {
  const words = audience.replaceAll(/[-_.:/]+/g, ' ').trim();
  return serviceNames[audience] ?? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
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

/** Revokes a grant and thereby its access tokens; repeating it changes nothing. */
export async function revokeGrant(context: Context, credentialId: string, reason: string): Promise<void> {
  const row = await context.pool.row(findLiveGrant(credentialId));
  if (row === undefined) return;
  await recordedTransaction(context, (inside) =>
    revokeToken(inside, { tenantId: row.tenant_id, credentialId, reason }),
  );
}
