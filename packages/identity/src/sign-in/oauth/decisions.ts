import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { secretHash } from '../../service/secrets.ts';
import type { PresentedSessionRow } from '../browser-sessions/browser-session.ts';
import { resolveSession } from '../browser-sessions/browser-sessions.ts';
import { noteDecision, shortenDecidingSession } from '../browser-sessions/deciding-session.ts';
import { isRecentSignIn } from '../browser-sessions/recent-sign-in.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type {
  Decided,
  OauthRequest,
  RequestDecision,
  RequestQuery,
  SealedDecision,
  SealedRequest,
} from './authorization-request.ts';
import { isDocumentId, openRequest } from './authorization-requests.ts';
import { tenantOfClient } from './clients/oauth-clients.ts';
import { GuessLimit } from './guess-limit.ts';
import { findConnectableAgents, findTenantName } from './oauth-grants.sql.ts';
import {
  agentsShownMax,
  audienceOf,
  createGrant,
  grantableScopes,
  requireConnectable,
  serviceName,
} from './oauth-grants.ts';
import { findPendingDeviceCode, updateDecidedDeviceCode } from './oauth-handles.sql.ts';
import { cliClientId, codeSeconds, deviceCodeSeconds } from './provider/authorization-server.ts';
import { seal } from './sealed/seals.ts';
import { readReachedWorkspaces } from './workspaces/reached-workspaces.ts';

/** The part of the flow in which the person decides: see docs/reference/oauth.md#decisions. */

const decisionSeconds = 120;
/** A user code has 34 bits; a person who mistypes needs few attempts. */
const guesses = new GuessLimit({ max: 10, windowSeconds: 600, keysMax: 10_000 });

/** A request that waits for a decision, from a browser or from a device. */
interface Pending {
  readonly request: SealedRequest;
  readonly device: OauthRequest['device'];
  readonly userCodeHash: string | undefined;
}

/**
 * What the person must see before they decide.
 * @throws Refusal `invalid_token`, `invalid_authorization_request`, `invalid_user_code`, `audience_not_allowed`,
 * `agent_not_connectable`, `rate_limited`
 */
export async function readRequest(context: Context, query: RequestQuery): Promise<OauthRequest> {
  const { row } = await resolveSession(context, query.token, 'browser_sessions.use');
  const pending = await findPending(context, row, query);
  const { tenant_id: tenantId, principal_id: personId } = row;
  const { client, params } = pending.request;
  const audience = audienceOf(context, String(params['resource']));
  const scopes = await grantableScopes(context, tenantId, audience, scopesIn(params));
  const agents = await context.db.rows(findConnectableAgents(tenantId, personId, agentsShownMax));
  const tenant = await context.db.row(findTenantName(tenantId));
  const { principalId = personId } = query;
  if (principalId !== personId && !agents.some(({ id }) => id === principalId)) fail('agent_not_connectable');
  const kind = principalId === personId ? 'human' : 'agent';
  const workspaces = await readReachedWorkspaces(context, row, { principalId, kind, audience, scopes });
  const isDocument = isDocumentId(client.id);
  return {
    client: {
      id: client.id,
      name: client.name,
      kind: client.id === cliClientId ? 'baton' : isDocument ? 'document' : 'registered',
      host: isDocument ? new URL(client.id).host : null,
      redirectHost: hostOf(params['redirect_uri']),
    },
    device: pending.device,
    tenant: { id: tenantId, name: tenant?.name ?? '' },
    person: { id: personId, name: row.display_name },
    agents: agents.map(({ id, display_name: name }) => ({ id, name })),
    audience,
    service: serviceName(audience),
    scopes,
    workspaces: workspaces ?? null,
    isRecent: isRecentSignIn(context.settings, row),
  };
}

/**
 * Stores the decision about a device, or seals it for the browser that began the request.
 * @throws Refusal `invalid_token`, `invalid_authorization_request`, `invalid_user_code`, `audience_not_allowed`,
 * `scope_not_allowed`, `authentication_context_expired`, `agent_not_connectable`, `rate_limited`
 */
export async function decideRequest(context: Context, decision: RequestDecision): Promise<Decided> {
  const { row } = await resolveSession(context, decision.token, 'browser_sessions.use');
  const pending = await findPending(context, row, decision);
  if (decision.decision === 'deny') return refuse(context, pending);
  if (!isRecentSignIn(context.settings, row)) fail('authentication_context_expired');
  const { tenant_id: tenantId, principal_id: personId } = row;
  const { params } = pending.request;
  const audience = audienceOf(context, String(params['resource']));
  const grantable = await grantableScopes(context, tenantId, audience, scopesIn(params));
  const scopes = decision.scopes ?? grantable;
  if (scopes.length === 0 || !scopes.every((scope) => grantable.includes(scope))) fail('scope_not_allowed');
  const { principalId = personId } = decision;
  if (principalId !== personId) await requireConnectable(context.db, tenantId, personId, principalId);
  await noteDecision(context.db, row);
  const granted = { tenantId, personId, principalId, scopes, sessionId: row.id };
  const endsSession = decision.endsSession === true;
  if (pending.userCodeHash === undefined) {
    if (endsSession) await shortenDecidingSession(context.db, row.id, decisionSeconds + codeSeconds);
    return sealDecision(context, { ...pending, granted });
  }
  await grantDevice(context, pending, pending.userCodeHash, { ...granted, endsSession });
  return { redirectTo: null };
}

async function refuse(context: Context, pending: Pending): Promise<Decided> {
  if (pending.userCodeHash === undefined) return sealDecision(context, pending);
  const refused = { error: 'access_denied', errorDescription: 'the person refused the request' };
  await context.db.row(updateDecidedDeviceCode(pending.userCodeHash, null, refused));
  return { redirectTo: null };
}

function sealDecision(
  context: Context,
  { request, granted }: Pick<SealedDecision, 'request' | 'granted'>,
): Decided {
  const endsAtMs = Date.now() + decisionSeconds * 1000;
  const sealed = seal(context, 'decision', { request, endsAtMs, ...(granted && { granted }) });
  return { redirectTo: `${context.settings.issuer}/oauth2/resume?decision=${sealed}` };
}

/** Creates the grant and assigns it to the device's code, or does neither. */
async function grantDevice(
  context: Context,
  { request }: Pending,
  userCodeHash: string,
  { endsSession, ...granted }: NonNullable<SealedDecision['granted']> & { readonly endsSession: boolean },
): Promise<void> {
  const { client, params, uid } = request;
  const resource = String(params['resource']);
  await recordedTransaction(context, async (inside) => {
    const made = { uid, ...granted, clientId: client.id, clientName: client.name, resource };
    const credentialId = await createGrant(inside, made);
    const decided = {
      accountId: credentialId,
      grantId: credentialId,
      scope: granted.scopes.join(' '),
      resource,
    };
    if ((await inside.db.row(updateDecidedDeviceCode(userCodeHash, credentialId, decided))) === undefined)
      fail('invalid_user_code');
    if (endsSession) await shortenDecidingSession(inside.db, granted.sessionId, deviceCodeSeconds);
  });
}

async function findPending(
  context: Context,
  row: PresentedSessionRow,
  { request: text, userCode = '' }: Pick<RequestQuery, 'request' | 'userCode'>,
): Promise<Pending> {
  if (text === undefined) return findDevice(context, row, userCode);
  const request = openRequest(context, text);
  await requireClientOfTenant(context, row, request.client.id, () => fail('invalid_authorization_request'));
  return { request, device: null, userCodeHash: undefined };
}

async function findDevice(context: Context, row: PresentedSessionRow, userCode: string): Promise<Pending> {
  const takeBack = guesses.take(row.principal_id);
  const unknown = () => fail('invalid_user_code');
  const userCodeHash = secretHash(userCode.toUpperCase().replaceAll(/[^A-Z]/g, ''));
  const found = await context.db.row(findPendingDeviceCode(userCodeHash));
  if (found === undefined) return unknown();
  const { payload, created_at: requestedAt, expires_at: expiresAt } = found;
  const { clientId, clientName, params, deviceInfo } = payload as unknown as DevicePayload;
  await requireClientOfTenant(context, row, clientId, unknown);
  takeBack();
  return {
    request: {
      uid: `device-${userCodeHash.slice(0, 32)}-${Date.parse(requestedAt)}`,
      params,
      client: { id: clientId, name: clientName ?? clientId, uri: null },
      browserHash: '',
      endsAtMs: Date.parse(expiresAt),
    },
    device: { ...deviceInfo, requestedAt },
    userCodeHash,
  };
}

interface DevicePayload {
  readonly clientId: string;
  readonly clientName?: string;
  readonly params: Record<string, string>;
  readonly deviceInfo: { readonly address: string; readonly userAgent: string };
}

/** A registered client is only for people of its own tenant. */
async function requireClientOfTenant(
  { db }: Context,
  { tenant_id: tenantId }: PresentedSessionRow,
  clientId: string,
  refused: () => never,
): Promise<void> {
  const owner = await tenantOfClient(db, clientId);
  if (owner !== undefined && owner !== tenantId) refused();
}

function scopesIn(params: Readonly<Record<string, string>>): string[] {
  return (params['scope'] ?? '').split(' ').filter((name) => name !== '');
}

/** A URL with an application's scheme can contain any host: only the scheme determines what is opened. */
function hostOf(address: string | undefined): string | null {
  const url = URL.parse(address ?? '');
  if (url === null) return null;
  return /^https?:$/.test(url.protocol) ? url.host : url.protocol;
}
