import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { observer } from '@baton/kernel/process/observer';
import { snapshotOf } from '../../access/authn/credential-snapshot.ts';
import { requireUsableType } from '../connection-types/connection-types.ts';
import { readAppSecret } from '../connection-types/oauth-apps.ts';
import type { ConnectionTypeSpec } from '../connection-types/type-spec.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { updateAuthorizationEpoch, upsertAuthorization } from './authorizations.sql.ts';
import type { ConnectionAuthorization } from './connection.ts';
import { getConnectionRow, lockConnectionRow } from './connections.ts';

/** A person's redirect to the provider. */
export interface BegunAuthorization {
  readonly url: string;
  readonly stateHash: string;
  /** The application that the request is made for. */
  readonly secretName: string;
}

/**
 * Creates the address at which a person grants access: authorization code with a state of 256 random bits and PKCE (RFC
 * 6749, RFC 7636). See docs/reference/connections.md#oauth.
 * @throws Refusal `not_found`, `unknown_connection_type`, `auth_not_supported`, `oauth_not_configured`,
 * `oauth_app_not_configured`, `secret_address_changed`, `secret_store_unavailable`
 */
export async function authorizeAround(
  key: string,
  { context, command }: Surroundings<BegunAuthorization, Context>,
): Promise<Answer> {
  const row = await getConnectionRow(context, key);
  const type = await requireUsableType(context, row.type_key, row.type_version);
  const { spec } = type;
  if (spec.oauth2 === null) return fail('auth_not_supported', { type: row.type_key });
  const redirectUri = redirectUriOf(context);
  const found = await readAppSecret(context, type);
  if (found === undefined) return fail('oauth_app_not_configured', { type: row.type_key });
  const state = randomBytes(32).toString('base64url');
  const proof = proofOf(found.app, state);
  observer()?.made('state of an authorization', state);
  observer()?.made('proof of an authorization', proof);
  const challenge = createHash('sha256').update(proof).digest('base64url');
  return command({
    url: authorizeUrlOf(spec.oauth2, { clientId: found.app.clientId, redirectUri, state, challenge }),
    stateHash: hashOfState(state),
    secretName: found.secretName,
  });
}

/** Voids earlier states of the connection. @throws Refusal `not_found` */
export async function beginAuthorization(
  context: Context,
  key: string,
  { url: authorizeUrl, stateHash, secretName }: BegunAuthorization,
): Promise<ConnectionAuthorization> {
  const { db, tenantId, caller, settings } = context;
  const { id: connectionId } = await lockConnectionRow(context, key);
  const raised = await db.row(updateAuthorizationEpoch(tenantId, connectionId));
  const made = {
    tenantId,
    connectionId,
    stateHash,
    secretName,
    initiatedBy: snapshotOf(caller, ['connections.manage']),
    lifeSeconds: settings.CP_OAUTH_STATE_TTL_SECONDS,
    epoch: (raised as { epoch: number }).epoch,
  };
  const { expires_at: expiresAt } = (await db.row(upsertAuthorization(made))) as { expires_at: string };
  return { authorizeUrl, expiresAt };
}

/** The callback address for providers. @throws Refusal `oauth_not_configured` */
export function redirectUriOf({ settings }: Context): string {
  const { CP_OAUTH_REDIRECT_URI: uri } = settings;
  const names = ['CP_OAUTH_REDIRECT_URI'];
  if (!URL.canParse(uri)) return fail('oauth_not_configured', { missing: names });
  const { protocol, hostname } = new URL(uri);
  // RFC 8252: a browser on the same machine needs no https for the callback.
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isHere))
    return fail('oauth_not_configured', { insecure: names });
  return uri;
}

export function hashOfState(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}

/** The verifier of RFC 7636: it can't be derived from the state alone, and needn't be stored. */
export function proofOf({ proofKey }: { proofKey: string }, state: string): string {
  return createHmac('sha256', proofKey).update(state).digest('base64url');
}

function authorizeUrlOf(
  { authorizeUrl, scopes }: NonNullable<ConnectionTypeSpec['oauth2']>,
  asked: { clientId: string; redirectUri: string; state: string; challenge: string },
): string {
  const url = new URL(authorizeUrl);
  const parameters = {
    response_type: 'code',
    client_id: asked.clientId,
    redirect_uri: asked.redirectUri,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    state: asked.state,
    code_challenge: asked.challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}
