import { Refusal } from '@baton/kernel/http/refusal';
import { type Answer, type Reply, reply, type Surroundings } from '@baton/kernel/http/service';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { resolveSnapshot, resolveStandingSnapshot } from '../../access/authn/credential-snapshot.ts';
import type { SecretChange } from '../../access/secret-store/secret-store.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Caller } from '../../service/caller.ts';
import { holds } from '../../service/permissions.ts';
import type { ConnectionTypeRow } from '../connection-types/connection-type.ts';
import { getTypeRow } from '../connection-types/connection-types.ts';
import { readAppSecret } from '../connection-types/oauth-apps.ts';
import { isAccountOf } from '../connection-types/type-spec.ts';
import type { Context } from '../context.ts';
import { type ConsumedRow, deleteAuthorization } from './authorizations.sql.ts';
import { hashOfState, proofOf, redirectUriOf } from './begin-authorization.ts';
import type { CallbackReason, ConnectionRow } from './connection.ts';
import { connectionAuthorizationFailed } from './connections.events.ts';
import { findConnectionById } from './connections.sql.ts';
import { lockConnectionRow } from './connections.ts';
import { activateConnection, putCredential } from './credentials.ts';
import { exchangeCode, NoToken, type OauthTokens } from './provider.ts';

/** The provider's callback parameters; the type defines the name of the account parameter. */
export type CallbackQuery = Readonly<Record<string, unknown>>;

/** A returned authorization, and the provider's result for it. */
export interface CameBack {
  readonly begun: ConsumedRow;
  readonly connection: ConnectionRow;
  readonly outcome:
    | { readonly tokens: OauthTokens; readonly change: SecretChange }
    | { readonly reason: CallbackReason };
}

const accountCharactersMax = 253;
/** The caller is not authenticated yet, so lookups of states share one queue: a flood uses few connections. */
const lookups = new ConcurrencyLimit('callbacks', { runningMax: 8, queuedMax: 500, waitMsMax: 5000 });
const exchangeBounds = { queuedMax: 50, waitMsMax: 5000 };
const exchanges = {
  tenant: new ConcurrencyLimit('exchanges of the tenant', { ...exchangeBounds, runningMax: 8 }),
  process: new ConcurrencyLimit('exchanges', { ...exchangeBounds, runningMax: 64 }),
};

/**
 * Handles the redirect from a provider. The state is consumed first, so it works only once; provider and store are
 * called without holding a lock. See docs/reference/connections.md#callback.
 */
export async function callbackAround(
  query: CallbackQuery,
  { context: nobodys, command }: Surroundings<CameBack, Context>,
): Promise<Answer> {
  const begun = await consume(nobodys, query['state']);
  if (begun === undefined) return answerOf(nobodys, { result: 'invalid_state' });
  const context: Context = { ...nobodys, tenantId: begun.tenant_id };
  const connection = await context.db.row(findConnectionById(begun.tenant_id, begun.connection_id));
  if (connection?.authorization_epoch !== begun.epoch) return answerOf(context, { result: 'invalid_state' });
  return command({ begun, connection, outcome: await outcomeOf(context, begun, connection, query) });
}

/** Undefined for a state that is unknown or expired. */
async function consume({ db }: Context, state: unknown): Promise<ConsumedRow | undefined> {
  if (typeof state !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(state)) return undefined;
  const row = await lookups.run('', () => db.row(deleteAuthorization(hashOfState(state))));
  return row?.is_live ? row : undefined;
}

async function outcomeOf(
  context: Context,
  begun: ConsumedRow,
  connection: ConnectionRow,
  query: CallbackQuery,
): Promise<CameBack['outcome']> {
  if (query['error'] === 'access_denied') return { reason: 'consent_denied' };
  const { code } = query;
  if (query['error'] !== undefined || typeof code !== 'string' || code === '')
    return { reason: 'provider_error' };
  const type = await getTypeRow(context, { key: connection.type_key, version: connection.type_version });
  const { oauth2 } = type.spec;
  if (oauth2 === null || type.status === 'disabled') return { reason: 'auth_not_supported' };
  const account = accountIn(query, type);
  if (account === undefined) return { reason: 'invalid_account' };
  if ((await initiatorOf(context, begun)) === undefined) return { reason: 'initiator_not_authorized' };
  const turns = new Turns([exchanges.tenant, context.tenantId], [exchanges.process, '']);
  try {
    await turns.enter();
  } catch (error) {
    if (error instanceof Refusal) return { reason: 'oauth_exchange_failed' };
    throw error;
  }
  try {
    const found = await readAppSecret(context, type, begun.secret_name);
    if (found === undefined) return { reason: 'oauth_app_not_configured' };
    const { app } = found;
    const proof = proofOf(app, query['state'] as string);
    const redirectUri = redirectUriOf(context);
    const tokens = await exchangeCode(context.settings, { oauth2, app, account, code, proof, redirectUri });
    return { tokens, change: await putCredential(context, connection.id, tokens) };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'secret_store_unavailable')
      return { reason: 'secret_store_unavailable' };
    // The connection was moved to a version with a different address, and no secret was entered for that address.
    if (error instanceof Refusal && error.code === 'secret_address_changed')
      return { reason: 'oauth_app_not_configured' };
    if (!(error instanceof NoToken)) throw error;
    context.log.warn({ connectionId: connection.id, reason: error.message }, 'a provider returned no token');
    return { reason: 'oauth_exchange_failed' };
  } finally {
    turns.leave();
  }
}

/** Null if the type has no parameter for the account; undefined if the account doesn't match the type's pattern. */
function accountIn(query: CallbackQuery, { spec }: ConnectionTypeRow): string | null | undefined {
  const name = spec.oauth2?.accountParam ?? null;
  if (name === null) return null;
  const account = query[name];
  if (typeof account !== 'string' || account === '' || account.length > accountCharactersMax)
    return undefined;
  return isAccountOf(spec, account) ? account : undefined;
}

/**
 * The person who started the authorization, if they may still connect it. A grant of the decision point remains valid
 * for the lifetime of the state. In a transaction, this function locks the principal.
 */
async function initiatorOf(
  context: Context,
  { initiated_by: then }: ConsumedRow,
): Promise<Caller | undefined> {
  const judgesElsewhere = context.settings.CP_AUTHZ_MODE === 'policy';
  const initiator = await (judgesElsewhere ? resolveSnapshot : resolveStandingSnapshot)(context, then);
  return initiator !== undefined && holds(initiator.permissions, 'connections.manage')
    ? initiator
    : undefined;
}

/**
 * Records the result on behalf of the person who started the authorization. A connection that has since been revoked,
 * connected again or redirected again stays unchanged.
 */
export async function finishAuthorization(
  context: Context,
  { begun, connection: seen, outcome }: CameBack,
): Promise<Reply<string>> {
  // The state identifies the tenant of this request: the events are written to that tenant's journal and wake its
  // readers.
  Object.assign(context, { tenantId: begun.tenant_id });
  const initiator = await initiatorOf(context, begun);
  if (initiator !== undefined) Object.assign(context, { caller: initiator });
  const row = await lockConnectionRow(context, seen.key);
  if (row.authorization_epoch !== begun.epoch) return replyOf(context, { result: 'invalid_state' });
  const { key, type_key: type } = row;
  const { principalId: initiatedBy } = begun.initiated_by;
  const reason = 'reason' in outcome ? outcome.reason : initiator === undefined && 'initiator_not_authorized';
  if (reason !== false) {
    emit(context, connectionAuthorizationFailed, { entityId: row.id }, { key, type, reason, initiatedBy });
    return replyOf(context, { result: 'failed', connection: key, reason });
  }
  const { tokens, change } = outcome as Exclude<CameBack['outcome'], { reason: unknown }>;
  // With a refresh token, access lasts longer than the access token.
  const expiresAt = tokens.refreshToken === null ? tokens.expiresAt : null;
  const made = { auth: 'oauth2', account: tokens.account, expiresAt, connectedBy: initiatedBy } as const;
  await activateConnection(context, row, change, made);
  return replyOf(context, { result: 'active', connection: key });
}

interface CallbackResult {
  readonly result: 'active' | 'failed' | 'invalid_state';
  readonly connection?: string;
  readonly reason?: CallbackReason;
}

/** The page runs no script, is not cached, and doesn't send its address, which contains the code, to the next page. */
const headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * 303 to the configured page; if none is configured, a line of text, with 200 if the connection is active, otherwise
 * 400.
 */
function answerOf({ settings }: Context, callback: CallbackResult): Answer {
  const { CP_CONNECTIONS_RETURN_URL: page } = settings;
  if (page !== '') {
    const url = new URL(page);
    for (const [name, value] of Object.entries(callback)) url.searchParams.set(name, value);
    return { status: 303, body: undefined, headers: { ...headers, location: url.href } };
  }
  const status = callback.result === 'active' ? 200 : 400;
  return {
    status,
    body: sentenceOf(callback),
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
  };
}

function replyOf(context: Context, callback: CallbackResult): Reply<string> {
  const { status, body, headers: all } = answerOf(context, callback);
  return reply(status, body as string, all);
}

function sentenceOf({ result, connection, reason }: CallbackResult): string {
  if (result === 'active') return `The connection ${connection} is active. You can close this page.\n`;
  if (result === 'failed') return `The connection ${connection} could not be connected: ${reason}.\n`;
  return 'This authorization request is unknown or has expired: invalid_state. Start again.\n';
}
